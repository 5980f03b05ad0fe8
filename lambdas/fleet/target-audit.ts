import type { AuditOptIns } from '../config/fleet.ts';
import type { Target } from '../contracts/target.ts';

/** The audit opt-ins of a target's entry in `fleet.yaml`. */
export function targetAudit({ auditSecrets, kubeletMetrics }: AuditOptIns): Pick<Target, 'audit'> {
  if (!auditSecrets && !kubeletMetrics) return {};
  return { audit: { secrets: yes(auditSecrets), kubeletMetrics: yes(kubeletMetrics) } };
}

function yes(optedIn: boolean | undefined): true | undefined {
  return optedIn ? true : undefined;
}
