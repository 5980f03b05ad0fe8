import { describe, expect, it } from 'vitest';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import { certificateOf, NOW } from './audit/audits.ts';
import { runCli } from './run-cli.ts';

const AT = new Date(NOW).toISOString();
const READ = { kind: 'read', source: 'tls', observedAt: AT, count: 1 };

const line = (changes: object = {}): string =>
  JSON.stringify({
    cluster: { id: 'berlin', provider: 'eks-anywhere' },
    observations: [certificateOf(), READ],
    now: AT,
    ...changes,
  });

const parse = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text));

describe('certmarshal assess', () => {
  it('answers each line in order with its findings', async () => {
    const fine = certificateOf({ notBefore: '2026-11-01T00:00:00.000Z', notAfter: '2027-11-01T00:00:00.000Z' });
    const input = [line(), line({ cluster: 'oslo', observations: [fine, READ] })].join('\n');
    const { status, stdout, stderr } = await runCli(['assess'], input);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [berlin, oslo] = parse(stdout);
    expect(Object.keys(berlin)).toEqual(['cluster', 'findings']);
    const codes = ({ findings }: { findings: readonly ExpiryFinding[] }) =>
      findings.filter(({ severity }) => severity !== 'info').map(({ code, cluster }) => [cluster, code]);
    expect(codes(berlin)).toEqual([['berlin', 'CertificateExpiring']]);
    expect(oslo.cluster).toBe('oslo');
    expect(codes(oslo)).toEqual([]);
  });

  it('answers with what the previous of the next line is, if it is asked to', async () => {
    const first = await runCli(['assess', '--observations'], line());
    const [previous] = parse(first.stdout);
    expect(previous.observations).toHaveLength(2);
    const later = new Date(NOW + 3_600_000).toISOString();
    const lost = { kind: 'unread', source: 'tls', observedAt: later, problem: 'timeout', message: 'm', remedy: 'r' };
    const second = await runCli(['assess'], line({ previous, observations: [lost], now: later }));
    const [{ findings }] = parse(second.stdout);
    expect(findings).toContainEqual(
      expect.objectContaining({
        code: 'CertificateExpiring',
        since: previous.findings[0].since,
        lastSeen: expect.any(String),
      }),
    );
  });

  it('answers a line that cannot be assessed with an error, loses no other line, and ends with status 1', async () => {
    const broken = line({ observations: [{ ...certificateOf(), notAfter: 'soon' }] });
    const { status, stdout } = await runCli(['assess'], [line(), '{', '', broken, 'null', line()].join('\n'));
    expect(status).toBe(1);
    expect(parse(stdout).map(({ cluster, line: number, error }) => [cluster, number, error])).toEqual([
      ['berlin', undefined, undefined],
      [null, 2, expect.stringMatching(/^line 2 is not JSON: /)],
      ['berlin', 4, expect.stringMatching(/^line 4: .*notAfter/)],
      [null, 5, 'line 5: the line is not a JSON object'],
      ['berlin', undefined, undefined],
    ]);
  });

  it('does not pass over a misspelt field', async () => {
    const { now: _, ...rest } = JSON.parse(line());
    const { status, stdout } = await runCli(['assess'], JSON.stringify({ ...rest, nwo: AT }));
    expect({ status, answers: parse(stdout) }).toEqual({
      status: 1,
      answers: [{ cluster: 'berlin', line: 1, error: 'line 1: nwo is not known: did you mean now?' }],
    });
  });

  it('says that nothing came', async () => {
    const { status, stdout, stderr } = await runCli(['assess'], '\n');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('certmarshal assess --help');
  });
});
