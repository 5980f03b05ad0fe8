import { describe, expect, it } from 'vitest';
import { incidentOf } from '../../../lambdas/notify/incident.ts';
import {
  closedLine,
  openedEvent,
  openedLine,
  openedText,
  recoveredText,
  type Scene,
  unnamedText,
} from '../../../lambdas/notify/texts.ts';
import type { Signal } from '../../../lambdas/tables/signals.ts';
import { at, auditSummary, DAY, expiryFinding, MINUTE, NOW } from '../fleet/values.ts';
import { cluster, ETCD, message } from './values.ts';

const SCENE: Scene = {
  severity: 'critical',
  alarm: 'CertificateCritical',
  fleet: { clusters: 3, ringing: 1 },
  link: undefined,
  bucket: 'certmarshal-state-1a2b',
  now: NOW,
};
const HUB: Scene = { ...SCENE, severity: 'warning', alarm: 'FunctionErrors', fleet: undefined };
const SWEEP = { alarm: 'FunctionErrors', part: 'sweep' } as const;
const ERRORS = message('FunctionErrors', 'ALARM', { reason: 'Crossed' });
const linesOf = ({ text }: { readonly text: string }) => text.split('\n');

describe('what people are told of a certificate', () => {
  const told = (changed: Partial<Signal>, audit = auditSummary({ findings: [] })) =>
    openedText([{ cluster: cluster('berlin', [], { audit }), signal: { ...ETCD, ...changed } }], SCENE);

  it.each([
    [at(DAY), 'Expires 2026-11-22 10:00 UTC. For 2 hours. 1 of 3 clusters.'],
    [at(-DAY), 'Expired 2026-11-20 10:00 UTC. For 2 hours. 1 of 3 clusters.'],
  ])('says whether it has ended: %s', (due, line) => {
    expect(linesOf(told({ due }))[1]).toBe(line);
  });

  it('does not call the switch to a new authority an end', () => {
    const due = at(DAY);
    const audit = auditSummary({ findings: [expiryFinding({ code: 'SuccessorNotTrusted', due })] });
    expect(linesOf(told({ due }, audit))[1]).toMatch(/^Due 2026-11-22/);
  });

  const APISERVER = 'kubectl, controllers and kubelets of the cluster fail; running containers continue.';
  it.each([
    ['kube-apiserver', 'the kube-apiserver certificate expires in 12 days, on …', `Once it has expired, ${APISERVER}`],
    ['kube-apiserver', 'the kube-apiserver certificate expired 35 minutes ago, on …', `Now ${APISERVER}`],
    [
      'etcd-peer',
      'the etcd peer certificate expires in 12 days',
      'Once it has expired, the API server loses its storage.',
    ],
    // Its owner knows.
    ['ca-bundle', 'the CA bundle expires in 12 days', undefined],
    // Not its expiry.
    ['kube-apiserver', 'the kube-apiserver certificate is not signed by a CA of the cluster', undefined],
    ['kube-apiserver', 'the kube-apiserver certificate is not valid until 2026-12-01', undefined],
  ] as const)('says what happens once it has expired: %s, %s', (what, story, words) => {
    const audit = auditSummary({
      findings: [expiryFinding({ code: 'CertificateExpiring', severity: 'critical', what })],
    });
    const { text } = told({ story }, audit);
    expect(/(?:Once it has expired,|Now) [^.]*\./.exec(text)?.[0]).toBe(words);
  });

  it('says it of each of several', () => {
    const culprits = [DAY, -DAY].map((ms, index) => ({
      cluster: cluster(`c${index}`),
      signal: { ...ETCD, due: at(ms) },
    }));
    const lines = linesOf(openedText(culprits, SCENE));
    expect(lines).toContain(`- c0: ${ETCD.story}, expires 2026-11-22 10:00 UTC`);
    expect(lines).toContain(`- c1: ${ETCD.story}, expired 2026-11-20 10:00 UTC`);
  });
});

describe('what people are told of a cluster that cannot be read', () => {
  it.each([
    ['eks', 'there; EKS still approves what it can verify.'],
    ['eks-anywhere', 'a new node that waits for an approval has no kubectl logs and exec.'],
    [undefined, 'on EKS, EKS still approves what it can verify.'],
  ] as const)('says what that means there: %s', (provider, words) => {
    const culprit = { cluster: { ...cluster('dublin'), provider }, signal: { ...ETCD, due: undefined } };
    const text = openedText([culprit], { ...SCENE, alarm: 'ClusterUnreadable' }).text;
    expect(text).toContain(`${words}\nRun doctor where your fleet file is, with credentials and Region of the hub.`);
    const event = openedEvent(culprit, { ...SCENE, alarm: 'ClusterUnreadable' });
    expect(incidentOf(event, undefined).facts.join(' ')).toContain(words);
  });
});

describe('what people are told first to do', () => {
  it.each([
    [
      'what the description of the alarm says',
      { first: 'aws logs tail /aws/lambda/sweep --since 15m' },
      'aws logs tail /aws/lambda/sweep --since 15m',
    ],
    ['else to look for it', {}, 'certmarshal doctor --fleet fleet.yaml'],
  ])('about certmarshal is %s', (_, changed, command) => {
    const text = unnamedText(SWEEP, ERRORS, '', { ...HUB, ...changed });
    expect(linesOf(text)[2]).toBe(`First: ${command}`);
    expect(linesOf(text)[3]).toBe('Runbook: certmarshal runbook function-errors');
  });

  it.each([
    ['certmarshal-state-1a2b', 'aws s3 presign s3://certmarshal-state-1a2b/report.html'],
    [undefined, 'aws s3 presign s3://BUCKET/report.html'],
    ['$(reboot)', 'aws s3 presign s3://BUCKET/report.html'],
  ])('where no cluster is named is to look at the whole fleet of %s', (bucket, command) => {
    const said = message('CertificateCritical', 'ALARM');
    // Its description only knows that there is a cluster.
    const scene = { ...SCENE, bucket, first: 'certmarshal audit --kubeconfig KUBECONFIG --cluster CLUSTER' };
    expect(unnamedText({ alarm: 'CertificateCritical' }, said, '', scene).text).toContain(`\nFirst: ${command}\n`);
  });
});

describe('the first line', () => {
  it('names a cluster once, or says that it is one', () => {
    const said = message('ClusterNeverRead', 'ALARM');
    const scene: Scene = { ...SCENE, severity: 'warning', alarm: 'ClusterNeverRead' };
    expect(unnamedText({ alarm: 'ClusterNeverRead' }, said, '', scene).subject).toBe(
      '[warning] since 2026-11-21 10:00 UTC: A cluster was found that certmarshal cannot enter',
    );
  });

  it('has the date of the beginning, if it has none of an expiry', () => {
    const line = (text: string, times: Partial<Signal>) =>
      openedLine('critical', 'dublin', text, { ...times, at: at() });
    expect(line('it burns', { since: at(-DAY) })).toBe('[critical] dublin, since 2026-11-20 10:00 UTC: it burns');
    expect(line('it burns', { since: 'x' })).toBe('[critical] dublin, since 2026-11-21 10:00 UTC: it burns');
    expect(line('it expires on 2026-11-22 10:00 UTC', { since: at(-DAY), due: at(DAY) })).toBe(
      '[critical] dublin: it expires on 2026-11-22 10:00 UTC',
    );
    // A subject has 99 characters.
    const long = 'a-cluster-in-the-second-region-of-the-company';
    expect(openedLine('critical', long, 'it burns', { at: at() })).toBe(
      `[critical] ${long}: it burns (since 2026-11-21 10:00 UTC)`,
    );
    const culprits = [2, 3].map((days) => ({
      cluster: cluster(`c${days}`),
      signal: { ...ETCD, since: at(-days * DAY) },
    }));
    expect(openedText(culprits, SCENE).subject).toMatch(
      /^\[critical\] 2 clusters, since 2026-11-18 10:00 UTC: c2, c3\. /,
    );
  });

  it('says of what is over only why, where it is not healthy, or what fires now', () => {
    expect(closedLine('dublin', 'it burns', { at: at(), reason: 'it is no longer in the fleet' })).toBe(
      '[resolved] dublin, 2026-11-21 10:00 UTC (it is no longer in the fleet). It was: it burns',
    );
    expect(closedLine('dublin', 'it burns', { at: at(), escalatedTo: 'CertificateCritical' })).toBe(
      '[escalated] dublin, now CertificateCritical, 2026-11-21 10:00 UTC. It was: it burns',
    );
  });

  it.each([
    ['dublin', '[resolved] dublin, 2026-11-21 10:00 UTC. It was: its requests cannot be listed'],
    [
      'certmarshal (sweep)',
      '[resolved] certmarshal (sweep), 2026-11-21 10:00 UTC. It was: its requests cannot be listed',
    ],
    [undefined, '[resolved] 2026-11-21 10:00 UTC. It was: its requests cannot be listed'],
  ])('does not read like the alarm when it is over: %s', (label, line) => {
    const one = { key: 'dublin', label, openedAt: at(-MINUTE), story: 'its requests cannot be listed' };
    expect(linesOf(recoveredText([one], SCENE))[0]).toBe(line);
    const two = linesOf(recoveredText([one, { ...one, label: 'oslo' }], SCENE));
    expect(two[0]).toMatch(/^\[resolved\] 2 clusters \(.+, oslo\), 2026-11-21 10:00 UTC\. It was: /);
    expect(two.at(-1)).toBe('- oslo: it was: its requests cannot be listed, opened 1 minute ago');
  });
});
