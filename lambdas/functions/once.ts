/**
 * What `load` gives, made at the first call and kept. The parts of a function that most sweeps do not run are loaded with it: a new function must not wait for
 * them to approve.
 */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return async () => {
    loaded ??= load();
    return loaded;
  };
}
