import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditOpenMetrics } from '../../../../bin/commands/audit/openmetrics.ts';
import type { Observation } from '../../../../lambdas/contracts/observation.ts';
import { certificateOf, findingOf, reportOf } from './audits.ts';

const SAMPLE = /^(?<name>[a-z_]+)\{(?<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,|(?=\})))*)\} (?<value>\S+)$/;

/** Samples by name and labels; throws for a line that the format does not know, and for a sample that is there twice. */
function parse(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n');
  if (lines.splice(-2).join('\n') !== '# EOF\n') throw new Error('it does not end with # EOF');
  const samples = new Map<string, number>();
  let family = '';
  for (const line of lines) {
    const { name, labels, value } = SAMPLE.exec(line)?.groups ?? {};
    const type = /^# TYPE (?<type>[a-z_]+) gauge$/.exec(line)?.groups?.['type'];
    if (type !== undefined) family = type;
    else if (name === family && !samples.has(`${name}{${labels}}`)) samples.set(`${name}{${labels}}`, Number(value));
    else if (!line.startsWith(`# HELP ${family} `) && line !== `# UNIT ${family} seconds`) throw new Error(line);
  }
  return samples;
}

describe('an audit as OpenMetrics', () => {
  it('has begin and end of each certificate, each finding, and what could be read', () => {
    const unread: Observation = {
      kind: 'unread',
      source: 'webhooks',
      observedAt: '2026-11-21T09:59:58.000Z',
      problem: 'forbidden',
      message: 'answered 403',
      remedy: 'certmarshal rbac',
    };
    const labels =
      'cluster="berlin",class="etcd-server",where="10.0.1.31:2379",position="0",source="tls",basis="certificate"';
    const samples = parse(auditOpenMetrics(reportOf([certificateOf(), unread], [findingOf(), findingOf()])));
    expect(Object.fromEntries(samples)).toMatchObject({
      [`certmarshal_certificate_not_after_timestamp_seconds{${labels}}`]: Date.parse('2026-12-03T08:11:00Z') / 1000,
      [`certmarshal_certificate_not_before_timestamp_seconds{${labels}}`]: Date.parse('2025-12-03T08:11:00Z') / 1000,
      'certmarshal_findings{cluster="berlin",code="CertificateExpiring",severity="critical"}': 2,
      'certmarshal_findings{cluster="berlin",code="CertificateExpiring",severity="warning"}': 0,
      'certmarshal_findings{cluster="berlin",code="SourceLost",severity="critical"}': 0,
      'certmarshal_source_up{cluster="berlin",source="nodes"}': 1,
      'certmarshal_source_up{cluster="berlin",source="webhooks"}': 0,
      'certmarshal_audit_timestamp_seconds{cluster="berlin"}': Date.parse('2026-11-21T09:59:58Z') / 1000,
    });
    expect([...samples.keys()].filter((key) => key.includes('tls-secrets'))).toEqual([]);
  });

  it('has no begin where none is known', () => {
    const { notBefore: _notBefore, ...certificate } = certificateOf();
    const keys = [...parse(auditOpenMetrics(reportOf([certificate]))).keys()];
    expect(keys.filter((key) => key.includes('not_before'))).toEqual([]);
  });

  it('has the earlier end of two that no label tells apart', () => {
    const ends = ['2027-01-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'];
    const samples = parse(auditOpenMetrics(reportOf(ends.map((notAfter) => certificateOf({ notAfter })))));
    expect([...samples].filter(([key]) => key.includes('not_after')).map(([, value]) => value)).toEqual([
      Date.parse('2026-12-01T00:00:00Z') / 1000,
    ]);
  });

  it('is well formed whatever a place is called', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('\\', '"', '\n', '{', '}', ',', '=', ' ', '#', 'a', 'n', 'ä') }),
        (where) => {
          const keys = [...parse(auditOpenMetrics(reportOf([certificateOf({ where })]))).keys()];
          const escaped = keys[0]?.split(',where="')[1]?.split('",position=')[0] ?? '';
          expect(escaped.replaceAll(/\\(.)/g, (_all, character) => (character === 'n' ? '\n' : character))).toBe(where);
        },
      ),
      { seed: 42 },
    );
  });
});
