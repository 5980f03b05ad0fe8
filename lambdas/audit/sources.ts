import type { AuditSource } from './audit-source.ts';

/** Every place that an audit looks at. */
export const AUDIT_SOURCES: readonly AuditSource[] = [];
