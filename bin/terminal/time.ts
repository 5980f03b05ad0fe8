/** `41s`, `3m`, `2h`, `5d`: the largest unit that is at least one. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h`;
  return `${Math.floor(whole / 86_400)}d`;
}

/** `3 min ago`, `41 s ago`. */
export function ago(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s ago`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ago`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ago`;
  return `${Math.floor(whole / 86_400)} d ago`;
}

/** `1.3 s` or `850 ms`. */
export function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** `41 s`, `3 min`, `5 h`, `12 d`, `8.7 y`: a time to come or gone by. Never rounded up, so that nobody believes to have more time than there is. */
export function span(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h`;
  const days = Math.floor(seconds / 86_400);
  return days < 2 * 365 ? `${days} d` : `${Math.floor((days / 365.25) * 10) / 10} y`;
}
