import { printable } from '../printable.ts';
import { AwsError, type AwsErrorKind } from './errors.ts';

interface Meaning {
  readonly kind: AwsErrorKind;
  readonly problem: string;
  readonly remedy?: string;
}

const REMEDY: Readonly<Record<AwsErrorKind, string>> = {
  denied: 'Allow the action to the role that makes the call, and check for a service control policy that denies it.',
  expired:
    'Renew the credentials of this process; a function has new ones within ten minutes. If it persists, check whether the role was deleted or its sessions were revoked.',
  clock: 'Set the clock of this machine: AWS rejects a request that is signed more than five minutes off.',
  region: 'Enable the Region in that account, or remove it from fleet.yaml.',
  'not-found': 'Deploy again if it was deleted; otherwise correct its name.',
  throttled: 'The next run tries again; if it persists, find out what else calls this API in that account and Region.',
  conflict: 'Read it again, and decide again.',
  invalid: 'Update certmarshal; if it persists, report it with this message.',
  aborted: 'The next run tries again.',
  unavailable: 'Check the health of the service in that Region, and the route to it: NAT gateway or VPC endpoint.',
};

const DENIED: Meaning = { kind: 'denied', problem: 'access is denied' };

/** Error codes of all services in use, by meaning (Common Error Types of each API reference; `RETRYABLE` codes of the SDK). */
const MEANINGS: readonly (readonly [codes: RegExp, meaning: Meaning])[] = [
  [
    /^(?:AccessDenied|AccessDeniedException|UnauthorizedOperation|NotAuthorized|AuthorizationError|AllAccessDisabled)$/,
    DENIED,
  ],
  [
    /^(?:ExpiredToken|ExpiredTokenException|RequestExpired|TokenRefreshRequired|CredentialsExpired)$/,
    { kind: 'expired', problem: 'the credentials have expired' },
  ],
  [
    /^(?:RequestTimeTooSkewed|RequestInTheFuture|SignatureDoesNotMatch|InvalidSignatureException)$/,
    { kind: 'clock', problem: 'the signature is not accepted' },
  ],
  [
    /^(?:CredentialsProviderError|ProviderError|TokenProviderError)$/,
    {
      kind: 'expired',
      problem: 'there are no usable AWS credentials',
      remedy: 'Sign in to AWS (aws sso login, AWS_PROFILE), or give the function its role back.',
    },
  ],
  [
    /^(?:UnrecognizedClientException|InvalidClientTokenId|InvalidAccessKeyId|AuthFailure|InvalidToken)$/,
    {
      kind: 'region',
      problem: 'the credentials are unknown there: the Region is not enabled in the account, or they were revoked',
      remedy:
        'Enable the Region in that account or remove it from fleet.yaml; if it is enabled, renew the credentials.',
    },
  ],
  [
    /^(?:RegionDisabledException|OptInRequired|SubscriptionRequiredException)$/,
    { kind: 'region', problem: 'the Region is not enabled in the account' },
  ],
  [
    /^(?:ResourceNotFoundException|NotFoundException|NotFound|NoSuch\w+|QueueDoesNotExist|AWS\.SimpleQueueService\.NonExistentQueue)$/,
    { kind: 'not-found', problem: 'it does not exist' },
  ],
  [
    /^(?:Throttl\w+|RequestThrottled\w*|RequestLimitExceeded|TooManyRequests\w*|SlowDown|EC2ThrottledException|LimitExceededException|BandwidthLimitExceeded)$/,
    { kind: 'throttled', problem: 'the call is throttled by AWS' },
  ],
  [
    /^(?:PreconditionFailed|ConditionalRequestConflict)$/,
    { kind: 'conflict', problem: 'it was changed by another writer since it was read' },
  ],
  [
    // `TimeoutError` and `RequestTimeout`: of the HTTP handler and of the service.
    /^(?:TimeoutError|RequestTimeout\w*|InternalFailure|InternalError|InternalServerError|ServerException|Service\w*Unavailable\w*|Unavailable)$/,
    { kind: 'unavailable', problem: 'the service failed or took too long' },
  ],
  // The body could not be parsed.
  [/^SyntaxError$/, { kind: 'invalid', problem: 'the answer cannot be read' }],
];

const UNREACHABLE =
  /^(?:E[A-Z_]{2,30}|CERT_\w{1,40}|UND_ERR_\w{1,30}|DEPTH_ZERO_\w{1,40}|UNABLE_TO_\w{1,40}|SELF_SIGNED_\w{1,40})$/;

/**
 * Classifies an error of the SDK. Keeps only the error code and, for a denied access, the message that says who may not
 * do what. The error itself is not kept as cause, because the SDK attaches the response to it.
 *
 * @param error what an SDK client threw; an AwsError (of credentials) is returned unchanged
 * @param object the call: `eks:ListClusters in 111122223333/eu-central-1`
 * @param remedies where the caller knows better than this table
 */
export function classify(
  error: unknown,
  object: string,
  remedies: Readonly<Partial<Record<AwsErrorKind, string>>> = {},
): AwsError {
  if (error instanceof AwsError) return error;
  const { kind, problem, remedy } = meaningOf(error);
  const code = printable(codeOf(error), 80);
  const said = kind === 'denied' ? refusalOf(error) : '';
  return new AwsError({
    kind,
    object,
    problem: `${problem} (${code})${said === '' ? '' : `: ${said}`}`,
    remedy: remedies[kind] ?? remedy ?? REMEDY[kind],
  });
}

/** The caller's signal ended the call. */
export function aborted(object: string): AwsError {
  return new AwsError({
    kind: 'aborted',
    object,
    problem: 'it ran out of time',
    remedy: REMEDY.aborted,
  });
}

/** AWS did not answer in time. */
export function unanswered(object: string, milliseconds: number): AwsError {
  const problem = `no answer within ${milliseconds / 1000} s`;
  return new AwsError({ kind: 'unavailable', object, problem, remedy: REMEDY.unavailable });
}

/** An unusable answer or call. `problem` contains printable text only. */
export function invalid(object: string, problem: string, remedy = REMEDY.invalid): AwsError {
  return new AwsError({ kind: 'invalid', object, problem, remedy });
}

function meaningOf(error: unknown): Meaning {
  const code = codeOf(error);
  const meaning = MEANINGS.find(([codes]) => codes.test(code))?.[1];
  if (meaning !== undefined) return meaning;
  const status = statusOf(error);
  if (status !== undefined) return meaningOfStatus(status);
  if (UNREACHABLE.test(code)) return { kind: 'unavailable', problem: 'the service cannot be reached' };
  return { kind: 'unavailable', problem: 'the call failed' };
}

/** For unknown or missing codes. */
function meaningOfStatus(status: number): Meaning {
  if (status === 401 || status === 403) return DENIED;
  if (status === 404) return { kind: 'not-found', problem: 'it does not exist' };
  if (status === 412) return { kind: 'conflict', problem: 'it was changed by another writer since it was read' };
  if (status === 429) return { kind: 'throttled', problem: 'the call is throttled by AWS' };
  if (status >= 500) return { kind: 'unavailable', problem: `the service failed with status ${status}` };
  return { kind: 'invalid', problem: `the call was rejected with status ${status}` };
}

/** `code` is set by Node.js for socket and DNS errors; `name` is the code of the service. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' && statusOf(error) === undefined ? error.code : error.name;
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
}

/** The message of a denial by IAM. EC2 encodes a part that cannot be read without another call; it is dropped. */
function refusalOf(error: unknown): string {
  if (!(error instanceof Error) || !('$fault' in error)) return '';
  const [said = ''] = error.message.split(/\.? ?Encoded authorization/);
  return printable(said.replace(/\.$/, ''), 300);
}
