import { describe, expect, it } from 'vitest';
import { assessExpiry } from '../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { CertificateObservation, Observation } from '../../../lambdas/contracts/observation.ts';
import { BERLIN, certificate, member } from './fixtures.ts';

function outline(observations: readonly Observation[], at: string): readonly string[] {
  return assessExpiry(BERLIN, observations, undefined, DEFAULT_THRESHOLDS, Date.parse(at)).findings.flatMap(
    ({ severity, code, object }) => (code === 'NotVisible' ? [] : `${severity} ${code} ${object}`),
  );
}

// Source: kubernetes/kubeadm#2989: an upgrade in place renewed the certificates of the API server, and not those of etcd.
describe('etcd whose certificates are older than those of its API server', () => {
  const at = '2024-05-28T00:00:00Z';
  const seen = { member: 'cp-1', observedAt: at } as const;
  const observations: readonly Observation[] = [
    member({
      source: 'machines',
      observedAt: at,
      role: 'control-plane',
      name: 'Machine eksa-system/cp-1',
      node: 'cp-1',
      createdAt: '2022-05-26T08:00:00Z',
    }),
    certificate({ ...seen, notBefore: '2023-07-19T08:22:00Z', notAfter: '2024-07-18T08:22:00Z', fingerprint: 'a1' }),
  ];
  const etcd = certificate({ ...seen, what: 'etcd-server', where: '10.0.0.5:2379', fingerprint: 'a2' });

  it('is critical where a handshake shows it', () => {
    const ended = { ...etcd, notBefore: '2023-05-27T08:19:00Z', notAfter: '2024-05-26T08:19:00Z' };
    expect(outline([...observations, ended], at)).toEqual([
      'critical CertificateExpired etcd-server cp-1',
      'warning CertificateExpiring kube-apiserver cp-1',
    ]);
  });

  it.each(['2024-07-18T08:22:00Z', '2023-05-26T08:00:00Z'])(
    'is unknown where none does, whether %s follows from the API server or from the age',
    (notAfter) => {
      const { notBefore: _, fingerprint: __, ...inferred } = etcd;
      const guess: CertificateObservation = { ...inferred, source: 'machines', basis: 'inference', notAfter };
      expect(outline([...observations, guess], at)).toEqual([
        'warning CertificateExpiring kube-apiserver cp-1',
        'warning ExpiryUnknown etcd-server cp-1',
      ]);
    },
  );
});

// Source: prometheus/blackbox_exporter#340: a server sends an old cross-signed root along, which has expired.
it('an expired root that a server sends along is no expiry of its own certificate', () => {
  const sent = { where: '10.0.0.5:6443', observedAt: '2026-11-27T12:00:00Z' } as const;
  const findings = outline(
    [
      certificate({
        ...sent,
        notBefore: '2026-10-01T00:00:00Z',
        notAfter: '2027-10-01T00:00:00Z',
        issuedByCluster: true,
      }),
      certificate({
        ...sent,
        position: 1,
        isAuthority: true,
        notBefore: '2024-10-01T00:00:00Z',
        notAfter: '2029-10-01T00:00:00Z',
      }),
      certificate({
        ...sent,
        position: 2,
        isAuthority: true,
        notBefore: '2016-10-01T00:00:00Z',
        notAfter: '2026-09-28T00:00:00Z',
      }),
    ],
    '2026-11-27T12:00:00Z',
  );
  expect(findings.filter((finding) => finding.includes('kube-apiserver'))).toEqual([]);
});
