import type { AuditReport } from '../../../lambdas/audit/audit.ts';
import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import { FINDING_CODES, type FindingCode } from '../../../lambdas/tables/finding-codes.ts';
import { certificatesOf } from './groups.ts';
import { auditedSources } from './sources.ts';

interface Sample {
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly unit?: 'seconds';
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The audit in the OpenMetrics 1.0 text format, for a textfile collector or a push gateway. */
export function auditOpenMetrics(report: AuditReport): string {
  return `${families(report).map(exposition).join('')}# EOF\n`;
}

function families(report: AuditReport): readonly Family[] {
  const { cluster, auditedAt, findings, observations } = report.snapshot;
  const certificates = distinct(cluster, certificatesOf(report));
  const { read, unread } = auditedSources(observations);
  return [
    {
      name: 'certmarshal_certificate_not_after_timestamp_seconds',
      unit: 'seconds',
      help: 'When the certificate expires.',
      samples: certificates.map(([labels, { notAfter }]) => ({ labels, value: seconds(notAfter) })),
    },
    {
      name: 'certmarshal_certificate_not_before_timestamp_seconds',
      unit: 'seconds',
      help: 'When the certificate becomes valid.',
      samples: certificates.flatMap(([labels, { notBefore }]) =>
        notBefore === undefined ? [] : [{ labels, value: seconds(notBefore) }],
      ),
    },
    {
      name: 'certmarshal_findings',
      help: 'Findings of the audit, by code and severity.',
      samples: CODES.flatMap((code) =>
        FINDING_CODES[code].severities.map((severity) => ({
          labels: { cluster, code, severity },
          value: findings.filter((finding) => finding.code === code && finding.severity === severity).length,
        })),
      ),
    },
    {
      name: 'certmarshal_source_up',
      help: 'Whether the source could be read; absent where it is switched off.',
      samples: [
        ...read.map(({ source }) => ({ labels: { cluster, source }, value: 1 })),
        ...unread.map(({ source }) => ({ labels: { cluster, source }, value: 0 })),
      ],
    },
    {
      name: 'certmarshal_audit_timestamp_seconds',
      unit: 'seconds',
      help: 'When the audit began.',
      samples: [{ labels: { cluster }, value: seconds(auditedAt) }],
    },
  ];
}

// Object.keys does not know the type of its argument's keys.
const CODES = Object.keys(FINDING_CODES).filter((code): code is FindingCode => code in FINDING_CODES);

/** One sample per set of labels: of certificates with equal labels, the first to expire. */
function distinct(
  cluster: string,
  certificates: readonly CertificateObservation[],
): readonly (readonly [Sample['labels'], CertificateObservation])[] {
  const byLabels = new Map<string, readonly [Sample['labels'], CertificateObservation]>();
  for (const certificate of certificates.toSorted((a, b) => seconds(a.notAfter) - seconds(b.notAfter))) {
    const { what, where, position = 0, member, source, basis } = certificate;
    const labels = { cluster, class: what, where, position: String(position), member, source, basis };
    const key = labelText(labels);
    if (!byLabels.has(key)) byLabels.set(key, [labels, certificate]);
  }
  return [...byLabels.values()];
}

function exposition({ name, unit, help, samples }: Family): string {
  return [
    `# TYPE ${name} gauge`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${help}`,
    ...samples.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`),
    '',
  ].join('\n');
}

function labelText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${escapeLabel(value)}"`],
  );
  return `{${pairs.join(',')}}`;
}

/** Source: OpenMetrics 1.0, "Escaping". */
function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function seconds(time: string): number {
  return Date.parse(time) / 1000;
}
