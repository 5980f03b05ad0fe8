import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { type Judged, RULES } from '../../../lambdas/approval/rules/rules.ts';
import { REASONS } from '../../../lambdas/tables/reasons.ts';
import { FAILURES } from './failures.ts';
import { BERLIN, csrObject, signingRequest } from './fixtures.ts';

// A placeholder like <node> would be taken for HTML.
const line = (...cells: readonly string[]): string => `| ${cells.join(' | ').replaceAll('<', '&lt;')} |`;
const code = (text: string): string => `\`${text}\``;

/** The table of reasons in `docs/verdicts.md`. */
export function reasonsTable(): string {
  return [
    line('Reason', 'Verdict', 'Meaning', 'What to do'),
    line('---', '---', '---', '---'),
    ...Object.entries(REASONS).map(([reason, { verdict, meaning, next }]) =>
      line(code(reason), verdict, meaning, next === '' ? 'Nothing.' : link(next)),
    ),
  ].join('\n');
}

/** The table of rules in `docs/verdicts.md`: what the built-in policy expects of the kubelet of `<node>`. */
export function rulesTable(): string {
  const judged: Judged = {
    csr: { ...signingRequest(csrObject()), username: 'system:node:<node>' },
    cluster: BERLIN,
    policy: DEFAULT_POLICY,
    node: '<node>',
    decoded: { ok: false, refusal: { code: 'NotPem', message: '' } },
    signature: undefined,
    evidence: indexEvidence([]),
    now: 0,
    ownership: undefined,
    mayBeControlPlane: false,
  };
  return [
    line('Rule', 'Expects', 'Fails when', 'Reason', 'Hostile'),
    line('---', '---', '---', '---', '---'),
    ...RULES.flatMap(({ id, expected }) =>
      FAILURES.filter(({ rule }) => rule === id).map(({ when, reason, hostile }, index) =>
        line(
          index === 0 ? code(id) : '',
          index === 0 ? (typeof expected === 'string' ? expected : expected(judged)) : '',
          when,
          code(reason),
          hostile ? 'yes' : 'no',
        ),
      ),
    ),
  ].join('\n');
}

/** A page of this directory is linked, a sentence stands as it is. */
function link(next: string): string {
  return next.replace(/^docs\/(\S+)$/, '[$1]($1)');
}
