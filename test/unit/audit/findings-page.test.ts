import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { Threshold } from '../../../lambdas/tables/certificate-classes.ts';
import { runbookOf } from '../../../lambdas/tables/finding-codes.ts';
import { findingsTable } from './finding-table.ts';
import { DAY } from './fixtures.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/findings.md'), 'utf8');

function limit({ share, floorMs, ceilingMs }: Threshold): string {
  const floor = floorMs === 0 ? '' : `, or ${floorMs / DAY} days`;
  return `${Math.round(share * 100)} % of its life${floor}; at most ${(ceilingMs ?? 0) / DAY} days`;
}

describe('docs/findings.md', () => {
  it('lists every finding as the code has it', () => {
    const [, section = ''] = page.split('\n## All findings\n');
    expect(
      section
        .split('\n')
        .filter((line) => line.startsWith('|'))
        .join('\n'),
    ).toBe(findingsTable());
  });

  it('names the thresholds that are in force', () => {
    const { default: usual, classes } = DEFAULT_THRESHOLDS;
    const kubelet = classes['kubelet-serving'] ?? usual;
    const kubeconfig = classes['cluster-kubeconfig'] ?? usual;
    expect(page).toContain(`| any other | ${limit(usual.warning)} | ${limit(usual.critical)} |`);
    expect(page).toContain(`EKS API endpoint | ${limit(kubelet.warning)} | ${limit(kubelet.critical)} |`);
    expect(page).toContain(
      `kubeconfig of Cluster API | ${limit(kubeconfig.warning)} | ${limit(kubeconfig.critical)} |`,
    );
    expect(Object.keys(classes)).toHaveLength(10);
    const authority = classes['cluster-ca'] ?? usual;
    expect(page).toContain(`| CA of the cluster | ${limit(authority.warning)} | ${limit(authority.critical)} |`);
  });
});

describe('runbookOf', () => {
  it('gives each code a runbook of its own', () => {
    expect(runbookOf('CertificateNotYetValid')).toBe('docs/runbooks/certificate-not-yet-valid.md');
  });
});
