import type { SourceId } from '../tables/audit-sources.ts';
import type { AuditContext } from './audit-source.ts';

/**
 * Whether an error means that the cluster does not have what a source reads. A 404 does, unless the previous audit saw
 * some: a kind that is no longer served may have another version or server, or be temporarily unavailable. Then it is a
 * failed read.
 */
export function isAbsent(
  { kind }: { readonly kind: string },
  source: SourceId,
  { remembered }: Pick<AuditContext, 'remembered'>,
): boolean {
  return kind === 'not-found' && !remembered.has(source);
}
