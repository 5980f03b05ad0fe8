import { type HandshakeOptions, type HandshakeResult, type HandshakeTarget, handshake } from './handshake.ts';
import { aborted } from './handshake-failure.ts';

export interface HandshakesOptions extends HandshakeOptions {
  /** Concurrent connections. @default 64 */
  readonly concurrency?: number;
  /** Called after each handshake, to show progress. */
  readonly onResult?: (index: number, result: HandshakeResult) => void;
}

const DEFAULT_CONCURRENCY = 64;

/**
 * Runs {@link handshake} for many servers, several at a time.
 *
 * @returns in the order of the targets; those not started before the signal aborted are `aborted`
 */
export async function handshakes(
  targets: readonly HandshakeTarget[],
  { concurrency = DEFAULT_CONCURRENCY, onResult, ...options }: HandshakesOptions,
): Promise<readonly HandshakeResult[]> {
  const results: HandshakeResult[] = targets.map(() => ({ ok: false, failure: aborted() }));
  const waiting = targets.entries();
  const work = async () => {
    for (const [index, target] of waiting) {
      if (options.signal.aborted) return;
      const result = await handshake(target, options);
      results[index] = result;
      onResult?.(index, result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, targets.length) }, work));
  return results;
}
