/** Calls `load` once and caches the result. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return async () => {
    loaded ??= load();
    return loaded;
  };
}

/** A function whose code is loaded at the first call. */
export function lazy<A extends readonly unknown[], R>(
  load: () => Promise<(...args: A) => Promise<R>>,
): (...args: A) => Promise<R> {
  const loaded = once(load);
  return async (...args) => (await loaded())(...args);
}

/** Calls `workOut` once for each object, and keeps the result as long as the object. */
export function onceForEach<K extends object, V extends object>(workOut: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, V>();
  return (key) => {
    const value = values.get(key) ?? workOut(key);
    values.set(key, value);
    return value;
  };
}
