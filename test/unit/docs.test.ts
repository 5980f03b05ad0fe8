import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../lambdas/approval/decide.ts';
import { indexEvidence } from '../../lambdas/approval/evidence.ts';
import { ownerFromMachine } from '../../lambdas/approval/machine-evidence.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { readSigningRequest } from '../../lambdas/approval/read-request.ts';
import { report } from '../../lambdas/sweep/report.ts';
import { csrOf, machineOf, requestOf } from '../bench/fixtures.ts';

const page = (name: string) => readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8');

/** Names of all fields of a value, however deep; maps by reason have no names of their own. */
function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...(key === 'ignored' ? [] : fieldsOf(inner))]);
}

describe('docs/output.md', () => {
  const documented = page('docs/output.md');
  const mentions = (field: string) => new RegExp(`[\`.\\]]${field}\``).test(documented);

  const verdictOf = (steals?: number) => {
    const read = readSigningRequest(
      csrOf(1, requestOf(1, steals === undefined ? {} : { steals }), '2026-01-01T00:00:00Z'),
    );
    if (!read.ok) throw new Error(read.problem);
    const owners = [1, 2].flatMap((index) => ownerFromMachine(machineOf(index), 'bench') ?? []);
    const evidence = indexEvidence([{ source: 'machine', ok: true, lookedAt: 2, owners }]);
    const request = {
      cluster: { name: 'bench', provider: 'eks-anywhere' as const },
      csr: read.csr,
      siblings: { pending: 1 },
    };
    const verdict = decideApproval(request, evidence, [DEFAULT_POLICY], Date.parse('2026-01-01T00:01:00Z'));
    return { csr: read.csr, evidence, verdict };
  };

  it('names every field of a verdict', () => {
    const fields = new Set([...fieldsOf(verdictOf().verdict), ...fieldsOf(verdictOf(2).verdict)]);
    expect(fields).toContain('ownedBy');
    expect([...fields].filter((field) => !mentions(field))).toEqual([]);
  });

  it('names every field of a sweep', () => {
    const { csr, evidence, verdict } = verdictOf();
    const subject = { name: csr.name, uid: csr.uid, resourceVersion: '1', metadata: {}, conditions: [] };
    const fields = fieldsOf(
      report({
        cluster: 'bench',
        provider: 'eks-anywhere',
        startedAt: 0,
        finishedAt: 1,
        observed: {
          open: [{ csr, subject, askedAt: [0] }],
          ignored: new Map([['Orphaned', 1]]),
          unreadable: [{ name: 'x', problem: 'y' }],
          unreadableCount: 2,
          evidence: {
            ...evidence,
            readings: [...evidence.readings, { source: 'node', ok: false, problem: 'z', remedy: 'r' }],
          },
        },
        acted: [{ csr, verdict, outcome: { kind: 'written' } }],
        requests: { sent: 1, writes: 1, retries: 0 },
      }),
    );
    expect(fields).toContain('remedy');
    expect([...new Set(fields)].filter((field) => !mentions(field))).toEqual([]);
  });
});

describe('links between pages', () => {
  it.each([
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/output.md',
    'docs/deploy.md',
    'docs/doctor.md',
    'docs/security.md',
    'docs/verdicts.md',
    'docs/runbooks/san-not-owned.md',
    'docs/runbooks/heartbeat.md',
  ])('%s points to files that exist', (name) => {
    const folder = name.includes('/') ? name.slice(0, name.lastIndexOf('/') + 1) : '';
    const targets = [...page(name).matchAll(/\]\((?!https?:)(?<path>[^)#]+)/g)].map(
      ({ groups }) => groups?.['path'] ?? '',
    );
    for (const target of targets) {
      const path = fileURLToPath(new URL(`../../${folder}${target}`, import.meta.url));
      expect({ target, exists: existsSync(path) }).toEqual({ target, exists: true });
    }
  });
});
