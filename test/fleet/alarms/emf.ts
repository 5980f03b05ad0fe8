import type { Sample } from './metric-store.ts';

// Source: Amazon CloudWatch User Guide, "Specification: Embedded metric format", and MetricDatum in the API Reference.
const UNITS = new Set(
  [
    ['Seconds', 'Microseconds', 'Milliseconds', 'Percent', 'Count', 'None'],
    [
      'Bytes',
      'Kilobytes',
      'Megabytes',
      'Gigabytes',
      'Terabytes',
      'Bits',
      'Kilobits',
      'Megabits',
      'Gigabits',
      'Terabits',
    ],
  ].flatMap((units, sizes) =>
    units.flatMap((unit) => (sizes === 1 || unit === 'Count' ? [unit, `${unit}/Second`] : unit)),
  ),
);
const MAX_DIMENSIONS = 30;
const MAX_METRICS = 100;
const MAX_VALUES = 100;
const MAX_TEXT = 1_024;

/**
 * The metrics in the output of a function. Lines that are no record in the embedded metric format are passed over.
 *
 * @throws Error that says which rule a record breaks: CloudWatch would drop it silently
 */
export function samplesOf(output: string): Sample[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.includes('"_aws"'))
    .flatMap((line) => {
      const root = object(JSON.parse(line), 'a record');
      return root['_aws'] === undefined ? [] : samplesOfRecord(root);
    });
}

type Fields = Readonly<Record<string, unknown>>;

function samplesOfRecord(root: Fields): Sample[] {
  const metadata = object(root['_aws'], '_aws');
  const timestamp = metadata['Timestamp'];
  must(
    Number.isSafeInteger(timestamp) && Number(timestamp) > 1e12,
    `Timestamp ${String(timestamp)} is not in milliseconds`,
  );
  return list(metadata['CloudWatchMetrics'], 'CloudWatchMetrics', 1, MAX_METRICS).flatMap((value) => {
    const directive = object(value, 'a directive');
    const namespace = text(directive['Namespace'], 'Namespace');
    must(/^[\w ./#:-]+$/.test(namespace) && !namespace.startsWith('AWS/'), `namespace ${namespace}`);
    const sets = list(directive['Dimensions'], 'Dimensions', 1, MAX_DIMENSIONS).map((set) => dimensionsOf(root, set));
    return list(directive['Metrics'], 'Metrics', 1, MAX_METRICS).flatMap((metric) => {
      const { name, values } = metricOf(root, object(metric, 'a metric'));
      return sets.flatMap((dimensions) =>
        values.map((number) => ({ namespace, name, dimensions, at: Number(timestamp), value: number })),
      );
    });
  });
}

function dimensionsOf(root: Fields, set: unknown): Readonly<Record<string, string>> {
  const names = list(set, 'a set of dimensions', 0, MAX_DIMENSIONS).map((name) =>
    text(name, 'the name of a dimension'),
  );
  must(new Set(names).size === names.length, `a dimension twice in ${names.join(', ')}`);
  return Object.fromEntries(
    names.map((name) => {
      const value = text(root[name], `dimension ${name}`);
      must(/^[\x20-\x7e]+$/.test(value) && !name.startsWith(':'), `dimension ${name} has other than ASCII in it`);
      return [name, value];
    }),
  );
}

function metricOf(root: Fields, metric: Fields): { readonly name: string; readonly values: readonly number[] } {
  const name = text(metric['Name'], 'the name of a metric');
  const { [name]: found } = root;
  const unit = metric['Unit'] === undefined ? 'None' : text(metric['Unit'], `the unit of ${name}`);
  must(UNITS.has(unit), `unit ${unit} of ${name}`);
  const values = Array.isArray(found) ? list(found, name, 1, MAX_VALUES) : [found];
  return {
    name,
    values: values.map((value) => {
      if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`EMF: ${name} is not a number`);
      return value;
    }),
  };
}

function text(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT)
    throw new Error(`EMF: ${what} is no text of 1 to ${MAX_TEXT} characters`);
  return value;
}

function list(value: unknown, what: string, least: number, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length < least || value.length > most)
    throw new Error(`EMF: ${what} is no list of ${least} to ${most}`);
  return value;
}

function object(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`EMF: ${what} is no object`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every field is unknown
  return value as Fields;
}

function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`EMF: ${rule}`);
}
