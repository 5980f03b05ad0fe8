import {
  type AuditSummary,
  type ClassEnd,
  type FindingTally,
  MAX_SUMMARY_FINDINGS,
  SUMMARY_LIMITS,
} from '../audit/summary.ts';
import { kindOf, MAX_TALLY } from '../audit/tally.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../expiry/certificate-classes.ts';
import { type KeptFinding, SEVERITIES } from '../expiry/finding.ts';
import { FINDING_CODES, type FindingCode, runbookOf } from '../expiry/finding-codes.ts';
import { SOURCE_IDS } from '../expiry/observation.ts';
import {
  count,
  fields,
  isAhead,
  isDuring,
  list,
  mark,
  matching,
  oneOf,
  optional,
  present,
  type Read,
  readable,
  ShapeError,
  text,
  time,
} from './shape.ts';
import { CLUSTER_ID } from './target.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const CLASSES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const CODES = Object.keys(FINDING_CODES) as FindingCode[];

/** What is not visible is written out, with up to twice the characters. */
const cut = (limit: number) => text(2 * limit + 1);

/** @throws ShapeError */
export const readAudit: Read<AuditSummary> = (value, path) => {
  const audit = fields(value, path);
  const findingCount = count(audit['findingCount'], `${path}.findingCount`);
  return present({
    auditedAt: time(audit['auditedAt'], `${path}.auditedAt`),
    durationMs: count(audit['durationMs'], `${path}.durationMs`),
    counts: readCounts(audit['counts'], `${path}.counts`),
    findings: list(readFinding, MAX_SUMMARY_FINDINGS)(audit['findings'], `${path}.findings`),
    findingCount,
    tally: readable(tallyOf(findingCount))(audit['tally'], `${path}.tally`),
    ends: list(readEnd, CLASSES.length)(audit['ends'], `${path}.ends`),
    sources: readSources(audit['sources'], `${path}.sources`),
    snapshotProblem: optional(cut(SUMMARY_LIMITS.snapshotProblem))(audit['snapshotProblem'], `${path}.snapshotProblem`),
    partial: optional(mark)(audit['partial'], `${path}.partial`),
  });
};

/** Of the sweep that began then. @throws ShapeError */
export function auditOf(startedAt: string): Read<AuditSummary> {
  return (value, path) => {
    const audit = readAudit(value, path);
    if (!isDuring(startedAt, audit.auditedAt)) throw new ShapeError(`${path}.auditedAt is not of this sweep`);
    return audit;
  };
}

/**
 * What the fleet index keeps. An audit that is more than ten minutes ahead is left out: no later one would be newer.
 *
 * @param now milliseconds since the epoch
 * @throws ShapeError
 */
export function auditUntil(now: number): Read<AuditSummary> {
  return (value, path) => {
    const audit = readAudit(value, path);
    if (isAhead(audit.auditedAt, now)) throw new ShapeError(`${path} is ahead`);
    return audit;
  };
}

const readCounts: Read<AuditSummary['counts']> = (value, path) => {
  const counts = fields(value, path);
  return {
    critical: count(counts['critical'], `${path}.critical`),
    warning: count(counts['warning'], `${path}.warning`),
    info: count(counts['info'], `${path}.info`),
  };
};

/** Counts every one, or is none: whoever finds a kind missing in it takes it that there is no finding of that kind. */
function tallyOf(findingCount: number): Read<readonly FindingTally[]> {
  return (value, path) => {
    const tally = list(readTally, MAX_TALLY)(value, path);
    if (new Set(tally.map(kindOf)).size !== tally.length) throw new ShapeError(`${path} counts a kind twice`);
    if (tally.reduce((sum, entry) => sum + entry.count, 0) !== findingCount)
      throw new ShapeError(`${path} does not count all findings`);
    return tally;
  };
}

const readTally: Read<FindingTally> = (value, path) => {
  const entry = fields(value, path);
  return present({
    code: oneOf(CODES)(entry['code'], `${path}.code`),
    severity: oneOf(SEVERITIES)(entry['severity'], `${path}.severity`),
    what: optional(oneOf(CLASSES))(entry['what'], `${path}.what`),
    count: count(entry['count'], `${path}.count`),
  });
};

const readSources: Read<AuditSummary['sources']> = (value, path) => {
  const sources = fields(value, path);
  const some = list(oneOf(SOURCE_IDS), SOURCE_IDS.length);
  return {
    read: some(sources['read'], `${path}.read`),
    unread: some(sources['unread'], `${path}.unread`),
    off: some(sources['off'], `${path}.off`),
  };
};

const readFinding: Read<KeptFinding> = (value, path) => {
  const finding = fields(value, path);
  const code = oneOf(CODES)(finding['code'], `${path}.code`);
  return present({
    code,
    severity: oneOf(SEVERITIES)(finding['severity'], `${path}.severity`),
    cluster: matching(CLUSTER_ID, 'the id of a cluster')(finding['cluster'], `${path}.cluster`),
    object: cut(SUMMARY_LIMITS.object)(finding['object'], `${path}.object`),
    what: optional(oneOf(CLASSES))(finding['what'], `${path}.what`),
    places: optional(list(cut(SUMMARY_LIMITS.place), MAX_SUMMARY_FINDINGS))(finding['places'], `${path}.places`),
    placeCount: optional(count)(finding['placeCount'], `${path}.placeCount`),
    message: cut(SUMMARY_LIMITS.message)(finding['message'], `${path}.message`),
    since: date(finding['since'], `${path}.since`),
    due: optional(date)(finding['due'], `${path}.due`),
    lastSeen: optional(date)(finding['lastSeen'], `${path}.lastSeen`),
    renewedBy: optional(cut(SUMMARY_LIMITS.message))(finding['renewedBy'], `${path}.renewedBy`),
    // Never a path that someone else wrote: people open it. Nor a command, which they run.
    runbook: runbookOf(code),
  });
};

const readEnd: Read<ClassEnd> = (value, path) => {
  const end = fields(value, path);
  return present({
    what: oneOf(CLASSES)(end['what'], `${path}.what`),
    count: count(end['count'], `${path}.count`),
    notBefore: optional(date)(end['notBefore'], `${path}.notBefore`),
    notAfter: date(end['notAfter'], `${path}.notAfter`),
    where: cut(SUMMARY_LIMITS.place)(end['where'], `${path}.where`),
  });
};

/** RFC 3339 in UTC, with or without a fraction: certificates have whole seconds. */
const date: Read<string> = (value, path) => {
  if (typeof value !== 'string' || !DATE.test(value) || Number.isNaN(Date.parse(value)))
    throw new ShapeError(`${path} is not a time as in 2026-11-21T10:02:17Z`);
  return value;
};

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
