import { getSystemErrorMap } from 'node:util';

/** `ENOENT`; undefined for another error. */
export function systemErrorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** The text of an operating system error, `no space left on device`, without code and call. */
export function systemErrorWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const words =
    'errno' in error && typeof error.errno === 'number' ? getSystemErrorMap().get(error.errno)?.[1] : undefined;
  return words ?? error.message;
}
