/** One record in CloudWatch's embedded metric format. */
export interface EmfRecord {
  readonly namespace: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** All values of each metric. */
  readonly metrics: Readonly<Record<string, readonly number[]>>;
}

// As the specification lists them ("Embedded metric format specification", Amazon CloudWatch User Guide), as far as we use them.
const UNITS = ['Count', 'Milliseconds', 'Seconds', 'Percent', 'None'];

/**
 * Finds the embedded metrics in the output of a function and holds them against the specification.
 *
 * @throws Error that says which record breaks which rule; CloudWatch would drop it silently
 */
export function emfRecords(output: string): readonly EmfRecord[] {
  return output
    .split('\n')
    .filter((line) => line.includes('"_aws"'))
    .flatMap((line) => recordsOf(JSON.parse(line)));
}

interface MetricDirective {
  readonly Namespace: string;
  readonly Dimensions: readonly (readonly string[])[];
  readonly Metrics: readonly { readonly Name: string; readonly Unit?: string }[];
}

function recordsOf(root: Readonly<Record<string, unknown>>): EmfRecord[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every part is looked at below
  const { Timestamp, CloudWatchMetrics } = root['_aws'] as {
    Timestamp: unknown;
    CloudWatchMetrics: readonly MetricDirective[];
  };
  must(Number.isSafeInteger(Timestamp), `Timestamp ${String(Timestamp)} is not in milliseconds`);
  must(Math.abs(Number(Timestamp) - Date.now()) < 3_600_000, `Timestamp ${String(Timestamp)} is not now`);
  must(CloudWatchMetrics.length > 0, 'no directive');
  return CloudWatchMetrics.map(({ Namespace, Dimensions, Metrics }) => {
    must(/^[\w./#:-]{1,1024}$/.test(Namespace), `namespace ${Namespace}`);
    must(Dimensions.length === 1, 'exactly one set of dimensions');
    const names = Dimensions[0] ?? [];
    must(names.length <= 30, 'more than 30 dimensions');
    const dimensions = Object.fromEntries(
      names.map((name) => {
        const value = root[name];
        if (typeof value !== 'string') throw new Error(`EMF: dimension ${name} has no text`);
        // Source: CloudWatch API Reference, Dimension.
        must(/^[\x20-\x7e]{1,1024}$/.test(value) && value.trim() !== '' && !value.startsWith(':'), `value of ${name}`);
        return [name, value];
      }),
    );
    must(Metrics.length > 0 && Metrics.length <= 100, `${Metrics.length} metrics`);
    const metrics = Object.fromEntries(
      Metrics.map(({ Name, Unit }) => {
        must(UNITS.includes(String(Unit)), `unit ${Unit} of ${Name}`);
        const values = [root[Name]].flat();
        must(values.length > 0 && values.length <= 100, `${values.length} values of ${Name}`);
        return [Name, values.map((value) => finite(Name, value))];
      }),
    );
    return { namespace: Namespace, dimensions, metrics };
  });
}

function finite(name: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`EMF: ${name} is not a number`);
  return value;
}

function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`EMF: ${rule}`);
}
