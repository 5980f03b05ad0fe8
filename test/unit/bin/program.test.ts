import { describe, expect, it } from 'vitest';
import { pasteable, programName } from '../../../bin/program.ts';

describe('how the program was started', () => {
  it.each([
    [{ npm_lifecycle_event: 'certmarshal' }, '/clone/bin/certmarshal.ts', 'npm run -s certmarshal --'],
    [{ npm_lifecycle_event: 'test' }, '/clone/bin/certmarshal.ts', 'certmarshal'],
    [{}, '/usr/local/bin/certmarshal', 'certmarshal'],
    [{}, '/usr/local/bin/kubectl-certmarshal', 'kubectl certmarshal'],
    [{}, '/opt/kubectl-certmarshal/certmarshal.mjs', 'certmarshal'],
    [{}, undefined, 'certmarshal'],
  ])('%j %s: %s', (env, entry, name) => {
    expect(programName(env, entry)).toBe(name);
  });

  it('puts it before the commands of a remedy', () => {
    expect(pasteable('Grant it: certmarshal rbac --management | kubectl apply -f -.', 'kubectl certmarshal')).toBe(
      'Grant it: kubectl certmarshal rbac --management | kubectl apply -f -.',
    );
    expect(pasteable('Run certmarshal doctor again.', 'npm run -s certmarshal --')).toBe(
      'Run npm run -s certmarshal -- doctor again.',
    );
    expect(pasteable('`certmarshal rollout resume`, or certmarshal recovery open', 'kubectl certmarshal')).toBe(
      '`kubectl certmarshal rollout resume`, or kubectl certmarshal recovery open',
    );
    expect(pasteable('Update certmarshal.', 'x')).toBe('Update certmarshal.');
  });

  it.each(['kubectl certmarshal', 'npm run -s certmarshal --', 'certmarshal'])('puts %s there once', (program) => {
    const remedy = pasteable('certmarshal rbac | kubectl apply -f -', program);
    expect(pasteable(remedy, program)).toBe(remedy);
  });
});
