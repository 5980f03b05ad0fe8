// Shorter work shows no progress.
const SILENT_MS = 1_000;
const REFRESH_MS = 100;

/** One progress line on a terminal; silent without a terminal. */
export interface Progress {
  say(text: string): void;
  /** Removes the line so that other output can be printed; the next refresh draws it again. */
  clear(): void;
  done(): void;
}

export type ProgressStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export function startProgress(stream: ProgressStream, now: () => number = Date.now): Progress {
  if (!stream.isTTY) return { say: () => {}, clear: () => {}, done: () => {} };
  const startedAt = now();
  let latest = '';
  let shown = false;
  const draw = () => {
    if (latest === '' || now() - startedAt < SILENT_MS) return;
    const line = `${latest} · ${Math.round((now() - startedAt) / 1000)} s`;
    stream.write(`\r\u001b[2K${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
    shown = true;
  };
  const clear = () => {
    if (shown) stream.write('\r\u001b[2K');
    shown = false;
  };
  const timer = setInterval(draw, REFRESH_MS);
  timer.unref();
  return {
    say(text) {
      latest = text;
    },
    clear,
    done() {
      clearInterval(timer);
      clear();
    },
  };
}
