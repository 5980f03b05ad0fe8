import { describe, expect, it } from 'vitest';
import { createIdleTargets } from '../../../../lambdas/cluster/connect/idle-targets.ts';
import type { OpenTarget } from '../../../../lambdas/cluster/connect/open-target.ts';

function open(name: string, closed: string[]): OpenTarget {
  const request = () => Promise.reject(new Error('not called'));
  const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
  return {
    cluster: { name, provider: 'eks' },
    workload: { server: 'https://127.0.0.1', stats, request, close: () => {} },
    machinesNamespace: 'eksa-system',
    close: () => closed.push(name),
  };
}

describe('createIdleTargets', () => {
  it('gives what it keeps, once', () => {
    const idle = createIdleTargets(2);
    const target = open('a', []);
    idle.keep('a', target);
    expect(idle.take('a')).toBe(target);
    expect(idle.take('a')).toBeUndefined();
  });

  it('closes the one that waits longest when there are too many', () => {
    const closed: string[] = [];
    const idle = createIdleTargets(2);
    for (const name of ['a', 'b']) idle.keep(name, open(name, closed));
    const a = idle.take('a');
    if (a !== undefined) idle.keep('a', a);
    idle.keep('c', open('c', closed));
    expect(closed).toEqual(['b']);
    expect(idle.take('a')).toBe(a);
    expect(idle.take('b')).toBeUndefined();
  });

  it('never closes what is taken out', () => {
    const closed: string[] = [];
    const idle = createIdleTargets(1);
    idle.keep('a', open('a', closed));
    idle.take('a');
    idle.keep('b', open('b', closed));
    expect(closed).toEqual([]);
  });

  it('closes what it replaces', () => {
    const closed: string[] = [];
    const idle = createIdleTargets(2);
    idle.keep('a', open('first', closed));
    idle.keep('a', open('second', closed));
    expect(closed).toEqual(['first']);
    expect(idle.take('a')?.cluster.name).toBe('second');
  });
});
