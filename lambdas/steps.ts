/** Work in pieces: yields so that the caller can give the thread to others, and returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Items between two yields; none takes over 0.1 ms. */
const STEP = 64;
/** Items sorted in one piece. */
const RUN = 1024;

/** Runs all pieces at once. */
export function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export function* eachInSteps<T>(items: Iterable<T>, work: (item: T) => void): Steps<void> {
  let count = 0;
  for (const item of items) {
    work(item);
    count += 1;
    if (count % STEP === 0) yield;
  }
}

/** As `Array.prototype.flatMap`. */
export function* flatMapInSteps<T, R>(items: Iterable<T>, work: (item: T) => readonly R[]): Steps<R[]> {
  const results: R[] = [];
  yield* eachInSteps(items, (item) => {
    for (const result of work(item)) results.push(result);
  });
  return results;
}

/** As `Array.prototype.map`. */
export function* mapInSteps<T, R>(items: Iterable<T>, work: (item: T) => R): Steps<R[]> {
  const results: R[] = [];
  yield* eachInSteps(items, (item) => results.push(work(item)));
  return results;
}

/** As `Array.prototype.filter`. */
export function* filterInSteps<T>(items: Iterable<T>, isIn: (item: T) => boolean): Steps<T[]> {
  return yield* flatMapInSteps(items, (item) => (isIn(item) ? [item] : []));
}

/** As `Map.groupBy`. */
export function* groupInSteps<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Steps<Map<K, T[]>> {
  const groups = new Map<K, T[]>();
  yield* eachInSteps(items, (item) => {
    const key = keyOf(item);
    const same = groups.get(key);
    if (same === undefined) groups.set(key, [item]);
    else same.push(item);
  });
  return groups;
}

/** As `Array.prototype.toSorted`: stable. */
export function* sortInSteps<T extends {}>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += RUN) {
    runs.push(items.slice(start, start + RUN).toSorted(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2)
      merged.push(yield* mergeInSteps(runs[index] ?? [], runs[index + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInSteps<T extends {}>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
): Steps<T[]> {
  const merged: T[] = [];
  let next = 0;
  for (const item of left) {
    for (let other = right[next]; other !== undefined && compare(item, other) > 0; other = right[next]) {
      merged.push(other);
      next += 1;
      if (next % RUN === 0) yield;
    }
    merged.push(item);
    if (merged.length % RUN === 0) yield;
  }
  for (const item of right.slice(next)) merged.push(item);
  return merged;
}
