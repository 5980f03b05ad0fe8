import type { SourceId } from '../tables/audit-sources.ts';
import type { AuditContext } from './audit-source.ts';

/**
 * Whether an error says that there is none of what a source reads. A 404 does, but not where there was some before: a kind that is not served any more may be
 * served in another version, by another server, or not just now. Then it is a read that failed, as any other.
 */
export function isAbsent(
  { kind }: { readonly kind: string },
  source: SourceId,
  { remembered }: Pick<AuditContext, 'remembered'>,
): boolean {
  return kind === 'not-found' && !remembered.has(source);
}
