import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStore } from '../../../bin/commands/credentials-store.ts';
import { runCli } from './run-cli.ts';

describe('--store', () => {
  it('takes stdout and names of secrets', () => {
    expect(parseStore('stdout')).toEqual({ kind: 'stdout' });
    expect(parseStore('secretsmanager:certmarshal/berlin-prod')).toEqual({
      kind: 'secretsmanager',
      name: 'certmarshal/berlin-prod',
    });
  });

  it('takes no text that Secrets Manager, or a shell, would take for something else', () => {
    const wrong = fc.string({ unit: 'grapheme' }).filter((name) => !/^[A-Za-z0-9/_+=.@-]{1,512}$/.test(name));
    fc.assert(
      fc.property(wrong, (name) => {
        expect(() => parseStore(`secretsmanager:${name}`)).toThrow('--store takes stdout or secretsmanager:NAME');
      }),
      { seed: 42 },
    );
  });
});

describe('certmarshal credentials create', () => {
  it.each([
    [['--kubeconfig', 'x'], "error: required option '--store <store>' not specified\n"],
    [['--store', 'file:x'], '--store takes stdout or secretsmanager:NAME'],
    [['--store', 'stdout', '--namespace', 'Kube_System'], '--service-account takes NAMESPACE/NAME'],
    [['--store', 'stdout', '--kubeconfig', '/nowhere/x'], 'There is no file /nowhere/x.\n'],
  ])('refuses %j before it writes anything', async (args, expected) => {
    const { status, stdout, stderr } = await runCli(['credentials', 'create', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(expected);
  });

  it('documents examples and exit status', async () => {
    const { status, stdout } = await runCli(['credentials', 'create', '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/Examples:\n {2}certmarshal credentials create /);
    expect(stdout).toMatch(/Exit status:\n {2}0 {2}done\n/);
  });
});
