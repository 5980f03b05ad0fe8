/** Something that goes on until it is stopped. */
export interface Background {
  /** Ends it and waits until it has ended. Harmless when called again. */
  stop(): Promise<void>;
}

/**
 * Runs `work` until it returns or is stopped. An error that is not the stop itself stays unhandled, so that a simulated
 * component never dies in silence.
 *
 * @param work receives the signal that stops it and may reject with that signal's reason.
 */
export function inBackground(work: (signal: AbortSignal) => Promise<void>): Background {
  const controller = new AbortController();
  const finished = work(controller.signal).catch((error: unknown) => {
    if (error !== controller.signal.reason) throw error;
  });
  return {
    stop() {
      controller.abort();
      return finished;
    },
  };
}
