import type { AuditReport } from '../../../lambdas/audit/audit.ts';
import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import { csvCell } from '../../terminal/phrases.ts';
import { certificatesOf } from './groups.ts';

type Column = readonly [name: string, value: (certificate: CertificateObservation) => string | number | undefined];

const COLUMNS: readonly Column[] = [
  ['class', ({ what }) => what],
  ['where', ({ where }) => where],
  ['position', ({ position }) => position ?? 0],
  ['member', ({ member }) => member],
  ['not_before', ({ notBefore }) => notBefore],
  ['not_after', ({ notAfter }) => notAfter],
  ['basis', ({ basis }) => basis],
  ['subject', ({ subject }) => subject],
  ['issuer', ({ issuer }) => issuer],
  ['serial_number', ({ serialNumber }) => serialNumber],
  ['fingerprint', ({ fingerprint }) => fingerprint],
  ['key', ({ key }) => key],
  ['renewed_by', ({ renewedBy }) => renewedBy],
  ['source', ({ source }) => source],
  ['observed_at', ({ observedAt }) => observedAt],
];

/** A header row, then one row per certificate and place, the first to expire first. Source: RFC 4180. */
export function auditCsv(report: AuditReport): string {
  const rows = certificatesOf(report)
    .toSorted((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter))
    .map((certificate) => [report.snapshot.cluster, ...COLUMNS.map(([, value]) => value(certificate) ?? '')]);
  return (
    [['cluster', ...COLUMNS.map(([name]) => name)], ...rows]
      // Always quoted: the separator depends on the locale of the spreadsheet.
      .map((row) => `${row.map((value) => csvCell(String(value), () => true)).join(',')}\r\n`)
      .join('')
  );
}
