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
