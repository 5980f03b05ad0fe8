import type { AlarmState } from './missing-data.ts';

/** Whether a rule of a composite alarm holds. */
export type AlarmRule = (stateOf: (alarm: string) => AlarmState) => boolean;

const STATES = new Set(['ALARM', 'OK', 'INSUFFICIENT_DATA']);

/**
 * Source of the syntax: AWS API Reference, PutCompositeAlarm, AlarmRule. NOT binds before AND, AND before OR.
 *
 * @returns the rule, and the names of the alarms it asks for
 * @throws Error that says what was expected where
 */
export function parseAlarmRule(text: string): { readonly holds: AlarmRule; readonly alarms: readonly string[] } {
  const tokens = [...text.matchAll(/\s*(?:"(?<quoted>[^"]+)"|(?<word>[\w:/.-]+)|(?<symbol>[()])|(?<other>\S))/g)].map(
    ({ groups }) => ({
      quoted: groups?.['quoted'],
      word: groups?.['word'] ?? groups?.['symbol'] ?? groups?.['other'],
    }),
  );
  const alarms: string[] = [];
  let position = 0;
  const fail = (expected: string): never => {
    const token = tokens[position];
    throw new Error(`alarm rule: expected ${expected}, not ${token?.quoted ?? token?.word ?? 'the end'}`);
  };
  const take = (word: string): boolean => {
    if (tokens[position]?.word !== word) return false;
    position += 1;
    return true;
  };
  const expect = (word: string) => {
    if (!take(word)) fail(word);
  };

  const any = (): AlarmRule => {
    const rules = [all()];
    while (take('OR')) rules.push(all());
    return (stateOf) => rules.some((rule) => rule(stateOf));
  };
  const all = (): AlarmRule => {
    const rules = [one()];
    while (take('AND')) rules.push(one());
    return (stateOf) => rules.every((rule) => rule(stateOf));
  };
  const one = (): AlarmRule => {
    if (take('NOT')) {
      const rule = one();
      return (stateOf) => !rule(stateOf);
    }
    if (take('(')) {
      const rule = any();
      expect(')');
      return rule;
    }
    if (take('TRUE')) return () => true;
    if (take('FALSE')) return () => false;
    const state = tokens[position]?.word ?? '';
    if (!STATES.has(state)) return fail('a state, NOT or (');
    position += 1;
    expect('(');
    const token = tokens[position];
    const named = token?.quoted ?? token?.word;
    if (named === undefined || named === ')') return fail('an alarm');
    position += 1;
    expect(')');
    // By name or by ARN.
    const alarm = named.replace(/^arn:[^:]*:cloudwatch:[^:]*:[^:]*:alarm:/, '');
    alarms.push(alarm);
    return (stateOf) => stateOf(alarm) === state;
  };

  const holds = any();
  if (position < tokens.length) fail('the end');
  return { holds, alarms };
}
