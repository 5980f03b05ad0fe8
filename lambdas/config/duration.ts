const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 };

/** A whole number and one unit, at most nine digits, so that every duration is an exact number of seconds. */
export const DURATION = /^(?:0|[1-9]\d{0,8})[smhd]$/;

/** Seconds of `90s`, `15m`, `2h` or `366d`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const size = SECONDS[text.slice(-1)];
  return size !== undefined && DURATION.test(text) ? Number(text.slice(0, -1)) * size : undefined;
}

/** The shortest text that `parseDuration` reads back, for example `366d` and never `8784h`. */
export function formatDuration(seconds: number): string {
  const [unit, size] = Object.entries(SECONDS).find(([, each]) => seconds >= each && seconds % each === 0) ?? ['s', 1];
  return `${seconds / size}${unit}`;
}
