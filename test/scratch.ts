import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The global setup of a run: a directory for what its workers leave behind, because no event of theirs comes at their end. */
export default function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'certmarshal-scratch-'));
  process.env['CERTMARSHAL_SCRATCH'] = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}
