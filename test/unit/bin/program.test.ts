import { describe, expect, it } from 'vitest';
import { isSupported, programName, startedIn } from '../../../bin/program.ts';
import { pasteable } from '../../../lambdas/command.ts';

describe('how the program was started', () => {
  it.each([
    [{ npm_lifecycle_event: 'certmarshal' }, '/clone/bin/certmarshal.ts', 'npm run -s certmarshal --'],
    [{ npm_lifecycle_event: 'test' }, '/clone/bin/certmarshal.ts', 'certmarshal'],
    [{ npm_lifecycle_event: 'npx' }, '/clone/dist/certmarshal.mjs', 'npx certmarshal'],
    [{}, '/usr/local/bin/certmarshal', 'certmarshal'],
    [{}, '/usr/local/bin/kubectl-certmarshal', 'kubectl certmarshal'],
    [{}, '/opt/kubectl-certmarshal/certmarshal.mjs', 'certmarshal'],
    [{}, undefined, 'certmarshal'],
  ])('%j %s: %s', (env, entry, name) => {
    expect(programName(env, entry)).toBe(name);
  });

  it.each([
    [{ npm_lifecycle_event: 'certmarshal', INIT_CWD: '/home/me' }, '/home/me'],
    [{ npm_lifecycle_event: 'audit', INIT_CWD: '/home/me' }, undefined],
    [{ npm_lifecycle_event: 'npx', INIT_CWD: '/home/me' }, undefined],
    [{ INIT_CWD: '/home/me' }, undefined],
    [{ npm_lifecycle_event: 'certmarshal' }, undefined],
  ])('%j: relative paths start in %s', (env, directory) => {
    expect(startedIn(env)).toBe(directory);
  });

  it.each([
    ['20.20.2', false],
    ['22.18.0', false],
    ['22.19.0', true],
    ['22.20.1', true],
    ['24.0.0', true],
    ['100.1.0', true],
  ])('Node.js %s is supported: %s', (version, expected) => {
    expect(isSupported('>=22.19.0', version)).toBe(expected);
  });

  it('puts it before the commands of a remedy', () => {
    expect(pasteable('Grant it: certmarshal rbac --management | kubectl apply -f -.', 'kubectl certmarshal')).toBe(
      'Grant it: kubectl certmarshal rbac --management | kubectl apply -f -.',
    );
    expect(pasteable('Run certmarshal doctor again.', 'npm run -s certmarshal --')).toBe(
      'Run npm run -s certmarshal -- doctor again.',
    );
    expect(pasteable('`certmarshal rollout abort`, or certmarshal runbook recovery', 'kubectl certmarshal')).toBe(
      '`kubectl certmarshal rollout abort`, or kubectl certmarshal runbook recovery',
    );
    expect(pasteable('Update certmarshal.', 'x')).toBe('Update certmarshal.');
  });

  it.each(['kubectl certmarshal', 'npx certmarshal', 'npm run -s certmarshal --', 'certmarshal'])(
    'puts %s there once',
    (program) => {
      const remedy = pasteable('certmarshal rbac | kubectl apply -f -', program);
      expect(pasteable(remedy, program)).toBe(remedy);
    },
  );
});

it('has more threads for look-ups than the silent name servers of a cluster can hold, unless the user says how many', async () => {
  const before = process.env['UV_THREADPOOL_SIZE'];
  delete process.env['UV_THREADPOOL_SIZE'];
  await import('../../../bin/threads.ts');
  expect(process.env['UV_THREADPOOL_SIZE']).toBe('64');
  if (before === undefined) delete process.env['UV_THREADPOOL_SIZE'];
  else process.env['UV_THREADPOOL_SIZE'] = before;
});
