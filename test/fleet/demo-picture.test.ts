import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { skip } from '../control-plane/real.ts';
import { demoPicture, steady } from '../pictures/demo.ts';
import { textOf } from '../pictures/terminal-svg.ts';

// Debian has it in bsdutils, which is always there.
const missing = spawnSync('script', ['--version']).status !== 0;
if (missing) skip('the picture of the demo', 'there is no "script" on the PATH; install util-linux');

describe.skipIf(missing)('docs/images/demo.svg', () => {
  // Its sweeps come at set times: a machine that stands still for half a minute of the demo, 2 seconds, sees other lines.
  it('is what the demo prints; npm run pictures makes it anew', { retry: 2 }, async () => {
    const image = readFileSync(new URL('../../docs/images/demo.svg', import.meta.url), 'utf8');
    expect(steady(textOf(await demoPicture()))).toEqual(steady(textOf(image)));
  });
});
