/** Limits of Express workflows. Source: AWS Step Functions Developer Guide, "Service quotas" and "Map state". */
const MOST_BYTES = 262_144;
const MOST_MS = 300_000;
const MOST_AT_ONCE = 40;

type Json = Readonly<Record<string, unknown>>;
type Handler = Readonly<Record<'ErrorEquals', readonly string[]>>;

interface State {
  readonly Type: keyof typeof FIELDS;
  readonly Parameters?: Json;
  readonly TimeoutSeconds?: number;
  readonly Retry?: readonly (Handler & Readonly<Record<'IntervalSeconds' | 'BackoffRate' | 'MaxAttempts', number>>)[];
  readonly Catch?: readonly (Handler & { readonly ResultPath: string; readonly Next: string })[];
  readonly ResultSelector?: Json;
  readonly ResultPath?: string | null;
  readonly ItemsPath?: string;
  readonly ItemSelector?: Json;
  readonly ItemProcessor?: Definition;
  readonly MaxConcurrency?: number;
  readonly Error?: string;
  readonly Next?: string;
}

export interface Definition {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, State>>;
}

/** What the definition of a tick uses of Amazon States Language; anything else is refused. */
const FIELDS = {
  Task: 'Resource Parameters TimeoutSeconds Retry Catch ResultSelector ResultPath Next End',
  Map: 'ItemsPath ItemSelector ItemProcessor MaxConcurrency Catch ResultPath Next',
  Pass: 'Parameters Next End',
  Fail: 'Error Cause',
} as const;

/** What an invocation becomes after some time; without result and error it hangs. */
export interface Answer {
  readonly ms: number;
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly cause?: string };
}

/** @param running invocations of all functions at that time */
export type FakeFunction = (payload: never, now: number, running: number) => Answer;

export interface Execution {
  readonly status: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT';
  readonly error?: string;
  readonly ms: number;
  readonly calls: readonly { readonly name: string; readonly payload: unknown; from: number; until: number }[];
  /** Bytes of the largest output of each state. */
  readonly outputs: Readonly<Record<string, number>>;
}

/** The end of an execution, unless something catches it. */
class End extends Error {
  readonly status: Execution['status'] | 'CATCHABLE';
  override readonly cause: string;
  readonly at: number;
  constructor(status: End['status'], name: string, at: number, cause = '') {
    super(name);
    [this.status, this.at, this.cause] = [status, at, cause];
  }
}

/**
 * Runs a definition in virtual time, by the rules of Express workflows. Waits of full jitter have their longest.
 *
 * @param functions by name or ARN
 * @throws Error for what it does not know, and for a path that is not there
 */
// oxlint-disable-next-line max-params -- one call
export function interpret(
  definition: Definition,
  input: Json,
  functions: Readonly<Record<string, FakeFunction>>,
  start: number,
): Execution {
  const calls: Execution['calls'][number][] = [];
  const outputs: Record<string, number> = {};
  const context = { Execution: { StartTime: new Date(start).toISOString() } };

  function passed(value: unknown, now: number): number {
    if (now - start > MOST_MS) throw new End('TIMED_OUT', 'States.Timeout', start + MOST_MS);
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes > MOST_BYTES) throw new End('FAILED', 'States.DataLimitExceeded', now);
    return bytes;
  }

  function run({ StartAt, States }: Definition, first: unknown, from: number): { output: unknown; now: number } {
    let [name, value, now] = [StartAt, first, from];
    for (;;) {
      const state = States[name];
      if (state === undefined) throw new Error(`no state ${name}`);
      const known = ['Type', ...FIELDS[state.Type].split(' ')];
      const unknown = Object.keys(state).filter((field) => !known.includes(field));
      if (unknown.length > 0) throw new Error(`${name}: the interpreter does not know ${unknown.join(', ')}`);
      passed(value, now);
      let next = state.Next;
      try {
        ({ output: value, now } = step(state, value, now));
      } catch (error) {
        if (!(error instanceof End) || error.status !== 'CATCHABLE') throw error;
        const handler = state.Catch?.find((one) => matches(one, error.message));
        if (handler === undefined) throw error;
        now = error.at;
        value = placed(value, handler.ResultPath, { Error: error.message, Cause: error.cause });
        next = handler.Next;
      }
      outputs[name] = Math.max(outputs[name] ?? 0, passed(value, now));
      if (next === undefined) return { output: value, now };
      name = next;
    }
  }

  function step(state: State, value: unknown, now: number): { output: unknown; now: number } {
    if (state.Type === 'Fail') throw new End('FAILED', state.Error ?? '', now);
    if (state.Type === 'Pass') return { output: filled(state.Parameters, value, context), now };
    const done = state.Type === 'Map' ? mapped(state, value, now) : called(state, value, now);
    passed(done.output, done.now);
    const selected = state.ResultSelector ? filled(state.ResultSelector, done.output, context) : done.output;
    return { output: placed(value, state.ResultPath, selected), now: done.now };
  }

  /** Items in order, each in the slot that is free first. */
  function mapped({ ItemProcessor, ...state }: State, value: unknown, from: number): { output: unknown; now: number } {
    const items = valueAt(state.ItemsPath ?? '$', value, context);
    if (!Array.isArray(items) || ItemProcessor === undefined) throw new Error('a Map without items');
    const slots = Array.from({ length: Math.min(MOST_AT_ONCE, state.MaxConcurrency ?? MOST_AT_ONCE) }, () => from);
    const output = items.map((item: unknown) => {
      const free = Math.min(...slots);
      const selected = filled(state.ItemSelector, value, { ...context, Map: { Item: { Value: item } } });
      const done = run(ItemProcessor, selected, free);
      slots[slots.indexOf(free)] = done.now;
      return done.output;
    });
    return { output, now: Math.max(...slots) };
  }

  function called(state: State, value: unknown, from: number): { output: unknown; now: number } {
    const { FunctionName, Payload: payload } = filled(state.Parameters, value, context) as Json;
    const name = String(FunctionName);
    const fake = functions[name];
    if (fake === undefined) throw new Error(`no function ${name}`);
    passed(payload, from);
    let now = from;
    for (let retries = 0; ; retries += 1) {
      const running = calls.filter((call) => call.from <= now && now < call.until).length;
      const { ms, result, error } = fake(payload as never, now, running);
      const limit = now + (state.TimeoutSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
      const isLate = (result === undefined && error === undefined) || now + ms >= limit;
      const until = isLate ? limit : now + ms;
      calls.push({ name, payload, from: now, until });
      if (!isLate && error === undefined) return { output: result, now: until };
      const problem: NonNullable<Answer['error']> = isLate || !error ? { name: 'States.Timeout' } : error;
      const retry = state.Retry?.find((one) => matches(one, problem.name));
      if (retry === undefined || retries === retry.MaxAttempts)
        throw new End('CATCHABLE', problem.name, until, problem.cause);
      now = until + retry.IntervalSeconds * retry.BackoffRate ** retries * 1_000;
    }
  }

  try {
    return { status: 'SUCCEEDED', ms: run(definition, input, start).now - start, calls, outputs };
  } catch (error) {
    if (!(error instanceof End)) throw error;
    const status = error.status === 'CATCHABLE' ? 'FAILED' : error.status;
    return { status, error: error.message, ms: error.at - start, calls, outputs };
  }
}

function matches({ ErrorEquals }: Handler, name: string): boolean {
  return ErrorEquals.includes(name) || ErrorEquals.includes('States.ALL');
}

function valueAt(path: string, value: unknown, context: Json): unknown {
  const [root, ...fields] = path.split('.');
  return fields.reduce(
    (part, field) => {
      if (typeof part !== 'object' || part === null || !(field in part)) throw new Error(`${path} is not there`);
      return (part as Json)[field];
    },
    root === '$$' ? context : value,
  );
}

function filled(template: unknown, value: unknown, context: Json): unknown {
  if (typeof template !== 'object' || template === null) return template;
  const entries = Object.entries(template).map(([field, part]) =>
    field.endsWith('.$') ? [field.slice(0, -2), valueAt(part, value, context)] : [field, filled(part, value, context)],
  );
  return Object.fromEntries(entries);
}

function placed(input: unknown, path: string | null | undefined, result: unknown): unknown {
  if (path === null) return input;
  return path === undefined ? result : { ...(input as Json), [path.slice(2)]: result };
}
