import { describe, expect, it } from 'vitest';
import { serverPorts } from '../../../../bin/commands/audit/ports.ts';
import { DEFAULT_PORTS } from '../../../../lambdas/audit/audit-target.ts';

describe('--port', () => {
  it('changes those that are named, the last one counts', () => {
    expect(serverPorts([])).toEqual(DEFAULT_PORTS);
    expect(serverPorts(['kubelet=10350', 'etcd-peer=3380', 'kubelet=10450'])).toEqual({
      ...DEFAULT_PORTS,
      kubelet: 10_450,
      etcdPeer: 3380,
    });
  });

  it.each([
    'kubelet',
    'kubelet=0',
    'kubelet=65536',
    'kubelet=1e3',
    'kubelet= 1',
    'kubeApiserver=6443',
    '=1',
    'toString=1',
  ])('refuses %j', (text) => {
    expect(() => serverPorts(['etcd=1', text])).toThrow(/^--port takes NAME=PORT, for example .*; got /);
  });

  it('tells all that are wrong at once', () => {
    expect(() => serverPorts(['a=1', 'b=2'])).toThrow(/got a=1\n.*got b=2$/);
  });
});
