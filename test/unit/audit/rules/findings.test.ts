import { describe, expect, it } from 'vitest';
import { byUrgency, findingsOf, mostUrgent } from '../../../../lambdas/audit/rules/findings.ts';
import { MAX_FINDINGS } from '../../../../lambdas/contracts/snapshot.ts';
import { finished } from '../../../../lambdas/steps.ts';
import type { CertificateClass } from '../../../../lambdas/tables/certificate-classes.ts';
import { expiryFinding } from '../../fleet/values.ts';
import { assess, BERLIN, certificate, days, NOW, read } from '../fixtures.ts';

const of = (what: CertificateClass | undefined, severity: 'critical' | 'warning' | 'info', due?: string) => {
  const { what: _, due: __, ...finding } = expiryFinding();
  return {
    ...finding,
    severity,
    object: `${severity} ${what} ${due}`,
    ...(what === undefined ? {} : { what }),
    ...(due === undefined ? {} : { due }),
  };
};

const secret = (n: number) =>
  certificate({
    source: 'tls-secrets',
    what: 'tls-secret',
    where: `Secret t/s${n}`,
    notBefore: days(-20_000),
    notAfter: days(-9_000),
    fingerprint: n.toString(16).padStart(64, '0'),
  });

describe('the order of findings', () => {
  it('is severity, then what most depends on, then when it bites', () => {
    const sorted = [
      of('tls-secret', 'critical'),
      of('kube-apiserver', 'warning', days(1)),
      of('kube-apiserver', 'warning', days(2)),
      of('etcd-server', 'warning', days(0)),
      of('cluster-ca', 'warning', days(0)),
      of(undefined, 'warning'),
      of('kubelet-serving', 'warning', days(0)),
      of('cluster-kubeconfig', 'warning', days(0)),
      of('ca-bundle', 'warning', days(-2)),
      of('issued-client', 'warning', days(-1)),
      of('tls-secret', 'warning', days(0)),
      of('kube-apiserver', 'info'),
    ];
    expect(sorted.toReversed().toSorted(byUrgency)).toEqual(sorted);
  });
});

it('the first of two findings stands that say the same of one object', () => {
  const draft = {
    code: 'ClockSkew',
    severity: 'warning',
    object: 'clock of x',
    facts: { server: 'x', skewMs: 1 },
  } as const;
  const drafts = [
    { ...draft, renewedBy: 'you' },
    { ...draft, renewedBy: 'EKS' },
  ];
  expect(finished(findingsOf(BERLIN.id, drafts, [], NOW))).toMatchObject([{ renewedBy: 'you' }]);
});

it.each(['a', '😀', '\u202e'])(
  'two certificates whose long names of %j differ only at their end are two findings',
  (character) => {
    const long = character.repeat(300);
    const secrets = [1, 2].map((n) => ({ ...secret(n), where: `Secret t/${long}${n}` }));
    const { findings } = assess([...secrets, read('tls-secrets')]);
    const expired = findings.filter(({ code }) => code === 'CertificateExpired');
    expect(expired).toHaveLength(2);
    expect(new Set(expired.map(({ object }) => object)).size).toBe(2);
    for (const { object } of expired) expect(object.length).toBeLessThanOrEqual(300);
  },
);

describe('mostUrgent', () => {
  const theirs = Array.from({ length: 30 }, (_, n) => of('tls-secret', 'critical', days(n)));
  const own = Array.from({ length: 30 }, (_, n) => of('kube-apiserver', 'warning', days(n)));
  const room = 20;

  it('gives workloads half of what the others need, and all of what they do not', () => {
    const kept = mostUrgent([...theirs, ...own], room);
    expect(kept).toEqual([...theirs.slice(0, 10), ...own.slice(0, 10)]);
    expect(mostUrgent([...theirs, ...own.slice(0, 3)], room)).toEqual([...theirs.slice(0, 17), ...own.slice(0, 3)]);
    expect(mostUrgent([...theirs.slice(0, 3), ...own], room)).toEqual([...theirs.slice(0, 3), ...own.slice(0, 17)]);
    expect(mostUrgent(theirs, room)).toEqual(theirs.slice(0, 20));
  });
});

describe('more findings than are kept', () => {
  const endpoint = certificate({ notAfter: days(40), notBefore: days(-325) });
  const isOwn = ({ object }: { readonly object: string }) => object.startsWith('kube-apiserver 10.0.1.31');

  it.each([MAX_FINDINGS, 3 * MAX_FINDINGS])('of %i Secrets hide nothing of the control plane', (count) => {
    const secrets = Array.from({ length: count }, (_, n) => secret(n));
    const { findings } = assess([...secrets, endpoint, read('tls-secrets'), read('tls')]);
    expect(findings).toHaveLength(MAX_FINDINGS);
    expect(findings.some(isOwn)).toBe(true);
    expect(findings.toSorted(byUrgency)).toEqual(findings);
    // Two of each Secret, one of the endpoint, and what cannot be seen: all but those that are shown beside this one.
    const more = 2 * count + 2 - (MAX_FINDINGS - 1);
    const left = findings.find(({ object }) => object === 'findings');
    expect(left).toMatchObject({
      code: 'SourcePartial',
      facts: { of: 'findings', count: more, critical: 0, workloads: more },
    });
  });
});
