/** Milliseconds. No resolution of ours is finer. */
export const MINUTE_MS = 60_000;

export type Dimensions = Readonly<Record<string, string>>;

/** One published number; a repeated one counts again, as in CloudWatch. */
export interface Sample {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Dimensions;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly value: number;
}

/** One metric: a name with exactly these dimensions. */
export interface Series {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Dimensions;
  /** All values of `[from, until)`, whole minutes in milliseconds since the epoch. */
  between(from: number, until: number): readonly number[];
  hasDataBetween(from: number, until: number): boolean;
}

/** Metric data as CloudWatch keeps it, in minutes. */
export interface MetricStore {
  add(sample: Sample): void;
  /** Of every set of dimensions. */
  seriesOf(namespace: string, name: string): readonly Series[];
  /** With exactly these dimensions; the order of their names does not matter. */
  find(namespace: string, name: string, dimensions: Dimensions): Series | undefined;
  /** How many series there are: each costs money for the hours in which it has data. */
  readonly size: number;
}

export function createMetricStore(): MetricStore {
  const series = new Map<string, MinuteSeries>();
  const byName = new Map<string, MinuteSeries[]>();
  return {
    add({ namespace, name, dimensions, at, value }) {
      const key = keyOf(namespace, name, dimensions);
      let found = series.get(key);
      if (found === undefined) {
        found = minuteSeries(namespace, name, { ...dimensions });
        series.set(key, found);
        const named = JSON.stringify([namespace, name]);
        byName.set(named, [...(byName.get(named) ?? []), found]);
      }
      found.add(Math.floor(at / MINUTE_MS), value);
    },
    seriesOf: (namespace, name) => byName.get(JSON.stringify([namespace, name])) ?? [],
    find: (namespace, name, dimensions) => series.get(keyOf(namespace, name, dimensions)),
    get size() {
      return series.size;
    },
  };
}

interface MinuteSeries extends Series {
  add(minute: number, value: number): void;
}

function minuteSeries(namespace: string, name: string, dimensions: Dimensions): MinuteSeries {
  const minutes = new Map<number, number[]>();
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  return {
    namespace,
    name,
    dimensions,
    add(minute, value) {
      const values = minutes.get(minute);
      if (values === undefined) minutes.set(minute, [value]);
      else values.push(value);
      first = Math.min(first, minute);
      last = Math.max(last, minute);
    },
    between(from, until) {
      const values: number[] = [];
      const end = Math.min(until / MINUTE_MS, last + 1);
      for (let minute = Math.max(from / MINUTE_MS, first); minute < end; minute += 1)
        values.push(...(minutes.get(minute) ?? []));
      return values;
    },
    hasDataBetween(from, until) {
      // From the newest on: a series that is still published is told at once.
      for (
        let minute = Math.min(until / MINUTE_MS, last + 1) - 1;
        minute >= Math.max(from / MINUTE_MS, first);
        minute -= 1
      )
        if (minutes.has(minute)) return true;
      return false;
    },
  };
}

function keyOf(namespace: string, name: string, dimensions: Dimensions): string {
  return JSON.stringify([namespace, name, Object.entries(dimensions).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
