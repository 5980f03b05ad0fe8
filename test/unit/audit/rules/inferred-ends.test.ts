import { describe, expect, it } from 'vitest';
import { assessExpiry } from '../../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../../lambdas/audit/rules/thresholds.ts';
import type { Observation } from '../../../../lambdas/contracts/observation.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2026-11-22T10:00:00Z');
const at = (days: number) => new Date(NOW + days * DAY).toISOString();
const TOLD = { observedAt: at(0) };

/** `clusterctl move` made the Machines anew 52 days ago; the machines are 347 days old. */
const MOVED = -52;
const REAL = -347;

const machine = (name: string, role: 'control-plane' | 'etcd', node?: string): Observation => ({
  kind: 'member',
  ...TOLD,
  source: 'machines',
  role,
  name: `Machine eksa-system/${name}`,
  ...(node === undefined ? {} : { node }),
  createdAt: at(MOVED),
  addresses: [],
});
const node = (name: string, createdAt = at(REAL)): Observation => ({
  kind: 'member',
  ...TOLD,
  source: 'nodes',
  role: 'control-plane',
  name: `Node ${name}`,
  node: name,
  createdAt,
  addresses: [],
});
const inferred = (what: 'control-plane-clients' | 'etcd-peer' | 'etcd-server', member: string): Observation => ({
  kind: 'certificate',
  ...TOLD,
  source: 'machines',
  what,
  where: `Machine eksa-system/${member}`,
  member,
  basis: 'inference',
  notBefore: at(MOVED),
  notAfter: at(MOVED + 365),
  precisionMs: DAY,
});
const shown = (
  what: 'kube-apiserver' | 'etcd-server' | 'kubelet-serving',
  member: string,
  days: number,
): Observation => ({
  kind: 'certificate',
  ...TOLD,
  source: 'tls',
  what,
  where: `${member}:443`,
  member,
  basis: 'certificate',
  notBefore: at(days - 365),
  notAfter: at(days),
});
const ETCD_CLIENT: Observation = {
  kind: 'certificate',
  ...TOLD,
  source: 'machines',
  what: 'apiserver-etcd-client',
  where: 'Secret eksa-system/berlin-apiserver-etcd-client tls.crt',
  basis: 'inference',
  notBefore: at(MOVED),
  notAfter: at(MOVED + 365),
  precisionMs: DAY,
};

function dues(...observations: readonly Observation[]): Readonly<Record<string, string | undefined>> {
  const cluster = { id: 'berlin', provider: 'eks-anywhere' } as const;
  const { findings } = assessExpiry(cluster, observations, undefined, DEFAULT_THRESHOLDS, NOW);
  return Object.fromEntries(
    findings.flatMap(({ code, object, due }) => (code.startsWith('CertificateExpir') ? [[object, due]] : [])),
  );
}

describe('an end that follows from the age of a Machine', () => {
  it('is not later than what the Node of the machine allows, which a move does not make anew', () => {
    const machines = [machine('cp-1', 'control-plane', 'cp-1'), inferred('control-plane-clients', 'cp-1')];
    expect(dues(...machines)).toEqual({});
    expect(dues(...machines, node('cp-1', at(-1)))).toEqual({});
    expect(dues(...machines, node('cp-1'))).toEqual({ 'control-plane-clients cp-1': at(18) });
    expect(dues(...machines, node('cp-2'))).toEqual({});
  });

  it('is not later than that of a certificate that was made in the same run', () => {
    const certificates = [
      machine('cp-1', 'control-plane', 'cp-1'),
      inferred('control-plane-clients', 'cp-1'),
      shown('kube-apiserver', 'cp-1', 18),
      machine('etcd-1', 'etcd'),
      inferred('etcd-server', 'etcd-1'),
      inferred('etcd-peer', 'etcd-1'),
      shown('etcd-server', 'etcd-1', 19),
      ETCD_CLIENT,
    ];
    expect(dues(...certificates)).toEqual({
      'kube-apiserver cp-1': at(18),
      'control-plane-clients cp-1': at(18),
      'etcd-server etcd-1': at(19),
      'etcd-peer etcd-1': at(19),
      'apiserver-etcd-client Secret eksa-system/berlin-apiserver-etcd-client tls.crt': at(19),
    });
  });

  it('is not later for a certificate that ends later, and knows nothing from those that a kubelet renews', () => {
    const clients = [machine('cp-1', 'control-plane', 'cp-1'), inferred('control-plane-clients', 'cp-1')];
    const late = shown('kube-apiserver', 'cp-1', 364);
    expect(dues(...clients, late, node('cp-1'))).toEqual({ 'control-plane-clients cp-1': at(18) });
    expect(dues(...clients, shown('kubelet-serving', 'cp-1', 300))).toEqual({});
  });

  it('says that it is the latest possible where neither its Node nor a certificate was seen', () => {
    const cluster = { id: 'berlin', provider: 'eks-anywhere' } as const;
    const message = (...observations: readonly Observation[]) =>
      assessExpiry(cluster, observations, undefined, DEFAULT_THRESHOLDS, NOW + 300 * DAY).findings.find(
        ({ object }) => object === 'etcd-peer etcd-1',
      )?.message;
    const etcd = [machine('etcd-1', 'etcd'), inferred('etcd-peer', 'etcd-1')];
    expect(message(...etcd)).toMatch(
      /at the latest, estimated from the age of its Machine: neither its Node nor a certificate/,
    );
    expect(message(...etcd, shown('etcd-server', 'etcd-1', 313))).toMatch(/, estimated from its age: /);
  });
});
