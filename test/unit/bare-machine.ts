import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';

/** A machine that has no programs but those put into `directory`, and an empty cache; what is said on stderr is in `printed`. */
export interface BareMachine {
  readonly directory: string;
  readonly cache: string;
  readonly printed: string[];
  remove(): Promise<void>;
}

/** Replaces the variables and stderr of this process until `remove`. */
export async function bareMachine(): Promise<BareMachine> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-tools-'));
  const cache = join(directory, 'cache');
  const printed: string[] = [];
  vi.stubEnv('PATH', directory);
  vi.stubEnv('CERTMARSHAL_CACHE', cache);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  return {
    directory,
    cache,
    printed,
    async remove() {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
