import { isUtf8 } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import { isJsonObject, type JsonObject, text } from '../resources/fields.ts';
import { date, span } from '../words.ts';
import type { Credentials } from './connection.ts';
import { KubernetesError, type KubernetesErrorDetails, type KubernetesErrorKind } from './errors.ts';
import type { Reply } from './exchange.ts';
import { cutItems, hasTooManyValues } from './json-values.ts';
import { missingRight, type Right } from './missing-right.ts';
import { printable } from './printable.ts';
import { parseRetryAfter } from './retry.ts';
import { describeSkew, type ServerClock, SKEW_REMEDY } from './server-clock.ts';

export interface AnswerContext {
  /** The call, for errors. */
  readonly object: string;
  readonly right?: Right | undefined;
  readonly credentials: Credentials;
  /** Secrets that a server must not be able to echo into an error message. */
  readonly secrets: readonly string[];
  /** Milliseconds since the epoch, for a `Retry-After` date. */
  readonly now: number;
  readonly clock?: ServerClock | undefined;
  /** See `ApiCall`. */
  readonly maxItemMembers?: number | undefined;
}

const SENDS_JSON = 'The API always sends JSON:';

/**
 * The JSON object of a 2xx answer.
 *
 * @throws KubernetesError for everything else, with `reason` and `message` of the Kubernetes Status where there is one.
 */
export function readAnswer(reply: Reply, context: AnswerContext): JsonObject {
  const { object } = context;
  const { status } = reply;
  const mediaType = mediaTypeOf(reply);
  const body = wholeBody(reply, mediaType, context);

  const about = { object, status };
  if (body.length === 0) throw notKubernetes(about, `answered ${status} with an empty body`, SENDS_JSON);
  if (mediaType !== 'application/json') throw otherMedia(about, mediaType, context, SENDS_JSON);
  if (context.maxItemMembers !== undefined) cutItems(body, context.maxItemMembers);
  if (hasTooManyValues(body)) {
    const problem = 'the answer has more values than certmarshal reads';
    const remedy = 'Find an object with an unusual number of fields, or check that the server is an API server.';
    throw new KubernetesError({ kind: 'too-large', ...about, problem, remedy });
  }
  const json = parseObject(body);
  if (json !== undefined) return json;
  throw notKubernetes(about, 'the answer is not one whole JSON object', 'It was cut off or rewritten:');
}

/**
 * The text of a 2xx answer from something behind the API server.
 *
 * @throws KubernetesError as {@link readAnswer}
 */
export function readTextAnswer(reply: Reply, context: AnswerContext): string {
  const mediaType = mediaTypeOf(reply);
  const body = wholeBody(reply, mediaType, context);
  if (mediaType === 'text/plain') return body.toString('utf8');
  throw otherMedia({ object: context.object, status: reply.status }, mediaType, context, 'Plain text was asked for:');
}

type About = Pick<KubernetesErrorDetails, 'object' | 'status' | 'retryAfterMs'>;

/** @param remedy before the question for a proxy */
function notKubernetes(about: About, problem: string, remedy: string): KubernetesError {
  const question = `${remedy} is there a proxy or a login page in between?`;
  return new KubernetesError({ kind: 'not-kubernetes', ...about, problem, remedy: question });
}

function otherMedia(about: About, mediaType: string, { secrets }: AnswerContext, remedy: string): KubernetesError {
  if (mediaType === 'text/html') return html(about);
  const problem =
    mediaType === '' ? 'answered without a content type' : `answered with ${printable(mediaType, secrets)}`;
  return notKubernetes(about, problem, remedy);
}

function mediaTypeOf({ headers }: Reply): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function wholeBody(reply: Reply, mediaType: string, context: AnswerContext): Buffer {
  const { status, body } = reply;
  if (status < 200 || status >= 300) throw refusal(reply, mediaType, context);
  if (body !== undefined) return body;
  const problem = 'the answer is larger than certmarshal reads';
  const remedy = 'Find an object of unusual size, or check that the server is an API server.';
  throw new KubernetesError({ kind: 'too-large', object: context.object, status, problem, remedy });
}

function refusal(reply: Reply, mediaType: string, context: AnswerContext): KubernetesError {
  const { object, right, secrets, now } = context;
  const { status, headers } = reply;
  const retryAfterMs = parseRetryAfter(headers['retry-after'], now);
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status >= 300 && status < 400) {
    const problem = `answered ${status}, a redirect`;
    const remedy = 'Redirects are never followed: use the URL of the API server itself.';
    return new KubernetesError({ kind: 'not-kubernetes', object, status, problem, remedy });
  }
  if (mediaType === 'text/html') return html({ object, status, ...wait });
  const body = mediaType === 'application/json' && reply.body !== undefined ? parseObject(reply.body) : undefined;
  const answered = body?.['kind'] === 'Status' ? body : {};
  const reason = printable(text(answered, 'reason') ?? '', secrets);
  const message = printable(text(answered, 'message') ?? '', secrets);
  const kind = kindOf(status);
  const skew = kind === 'unauthorized' ? describeSkew(context.clock) : undefined;
  const expired = kind === 'unauthorized' && skew === undefined ? expiredCredentials(context) : undefined;
  const answeredSo = [`answered ${status}`, reason, message && `(${message})`].filter((part) => part !== '').join(' ');
  const why = skew === undefined ? expired : `${skew}, and credentials are valid only for a limited time`;
  return new KubernetesError({
    kind,
    object,
    status,
    problem: answeredSo + (why === undefined ? '' : `; ${why}`),
    remedy:
      skew === undefined
        ? remedyFor(kind, right, expired === undefined ? context.credentials.kind : 'expired')
        : SKEW_REMEDY,
    reason: reason === '' ? undefined : reason,
    code: expired === undefined ? undefined : EXPIRED_CLIENT,
    ...wait,
    continueToken: text(answered, 'metadata', 'continue') || undefined,
  });
}

function html(about: About): KubernetesError {
  return notKubernetes(about, `answered ${about.status} with HTML`, 'The endpoint answers HTML:');
}

type RefusalKind = Extract<
  KubernetesErrorKind,
  'unauthorized' | 'forbidden' | 'not-found' | 'conflict' | 'gone' | 'throttled' | 'server' | 'invalid'
>;

const KINDS: ReadonlyMap<number, RefusalKind> = new Map([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not-found'],
  [409, 'conflict'],
  [410, 'gone'],
  [429, 'throttled'],
]);

function kindOf(status: number): RefusalKind {
  return KINDS.get(status) ?? (status >= 500 ? 'server' : 'invalid');
}

function remedyFor(kind: RefusalKind, right: Right | undefined, credentials: keyof typeof REFUSED_CREDENTIALS): string {
  if (kind === 'unauthorized') return REFUSED_CREDENTIALS[credentials];
  return kind === 'forbidden' ? missingRight(right) : REMEDIES[kind];
}

const REMEDIES: Readonly<Record<Exclude<RefusalKind, 'unauthorized' | 'forbidden'>, string>> = {
  'not-found': 'It is gone, or this API server does not serve it.',
  conflict: 'It changed or was replaced since it was read: read and judge it again.',
  gone: 'The list took longer than the server keeps its snapshot: start it again.',
  throttled: 'The API server is overloaded: send fewer requests at once, or give certmarshal its own FlowSchema.',
  server: 'The API server failed: check its health; /readyz?verbose shows which part fails.',
  invalid: 'The answer says what it does not accept: check that it is Kubernetes 1.25 or later.',
};

const REFUSED_CREDENTIALS = {
  token: 'The token is not accepted: renew the credentials.',
  certificate: 'The client certificate is not accepted: renew the credentials.',
  expired:
    'A new one is in admin.conf of each control plane machine and, with Cluster API, in the Secret <cluster>-kubeconfig of the management cluster.',
};

/** Code of an error: the client certificate has expired, which an API server does not say. */
export const EXPIRED_CLIENT = 'CERTMARSHAL_EXPIRED_CLIENT';

function expiredCredentials({ credentials, now }: AnswerContext): string | undefined {
  if (credentials.kind === 'token') return undefined;
  const { subject, validToDate } = new X509Certificate(credentials.certificatePem);
  const end = validToDate.getTime();
  if (end > now) return undefined;
  const name = printable(subject.replaceAll('\n', ', '), []);
  return `the client certificate expired ${span(now - end)} ago, on ${date(end)}: ${name}`;
}

function parseObject(body: Buffer): JsonObject | undefined {
  try {
    // Decoding invalid UTF-8 takes five times as long.
    if (!isUtf8(body)) return undefined;
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    // The parser's message quotes the answer, so it is dropped.
    return undefined;
  }
}
