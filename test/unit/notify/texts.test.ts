import { describe, expect, it } from 'vitest';
import { openedText, recoveredText, type Scene, unnamedText } from '../../../lambdas/notify/texts.ts';
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
    ['certmarshal-state-1a2b', 'certmarshal report --bucket certmarshal-state-1a2b --output report.html'],
    [undefined, 'certmarshal report --bucket BUCKET --output report.html'],
    ['$(reboot)', 'certmarshal report --bucket BUCKET --output report.html'],
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
      '[warning] A cluster was found that certmarshal cannot enter',
    );
  });

  it.each([
    ['dublin', '[recovered] dublin: resolved: its requests cannot be listed'],
    ['certmarshal (sweep)', '[recovered] certmarshal (sweep): resolved: its requests cannot be listed'],
    [undefined, '[recovered] resolved: its requests cannot be listed'],
  ])('does not read like the alarm when it is over: %s', (label, line) => {
    const one = { key: 'dublin', label, openedAt: at(-MINUTE), story: 'its requests cannot be listed' };
    expect(linesOf(recoveredText([one], SCENE))[0]).toBe(line);
    const two = linesOf(recoveredText([one, { ...one, label: 'oslo' }], SCENE));
    expect(two[0]).toMatch(/^\[recovered\] 2 clusters: resolved: /);
  });
});
