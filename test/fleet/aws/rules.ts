import type { AwsFault } from './aws-fault.ts';
import type { Place, Principal, ServiceName } from './service.ts';
import { createTokenBucket, type TokenBucket, type TokenBucketOptions } from './token-bucket.ts';

/** What can be made to go wrong. Everything returned ends what it started. */
export interface Rules {
  /**
   * Refuses an action as IAM does.
   *
   * @param action `eks:ListClusters`
   * @param principal whom; an account means everybody in it. @default everybody
   */
  deny(action: string, principal?: Partial<Principal>): () => void;
  /** Answers with this fault instead of doing anything. @param times @default always */
  fail(action: string, fault: AwsFault, times?: number): () => void;
  /** The Region does not know the keys of the account any more, as one that is not enabled. */
  disableRegion(place: Place): () => void;
  /** Bounds the requests to a service: each account has a bucket of its own in each Region. */
  throttle(service: ServiceName, options: TokenBucketOptions): () => void;
}

/** What the server asks before it does anything. */
export interface RuleBook extends Rules {
  isDenied(action: string, principal: Principal): boolean;
  isDisabled(place: Place): boolean;
  /** Takes a token. @returns whether there was none */
  isThrottled(service: ServiceName, place: Place): boolean;
  /** The fault to answer with, and one time less to do so. */
  nextFailure(action: string): AwsFault | undefined;
}

interface Failure {
  readonly action: string;
  readonly fault: AwsFault;
  left: number;
}

export function createRules(now: () => number): RuleBook {
  const denials = new Set<{ readonly action: string; readonly principal: Partial<Principal> }>();
  const failures = new Set<Failure>();
  const disabled = new Set<Place>();
  const limits = new Map<
    ServiceName,
    { readonly options: TokenBucketOptions; readonly buckets: Map<string, TokenBucket> }
  >();

  return {
    deny: (action, principal = {}) => added(denials, { action, principal }),
    fail: (action, fault, times = Number.POSITIVE_INFINITY) => added(failures, { action, fault, left: times }),
    disableRegion: (place) => added(disabled, place),
    throttle(service, options) {
      const limit = { options, buckets: new Map<string, TokenBucket>() };
      limits.set(service, limit);
      return () => {
        if (limits.get(service) === limit) limits.delete(service);
      };
    },
    isDenied: (action, { account, role }) =>
      [...denials].some(
        ({ action: denied, principal }) =>
          denied === action && (principal.account ?? account) === account && (principal.role ?? role) === role,
      ),
    isDisabled: ({ account, region }) => [...disabled].some((one) => one.account === account && one.region === region),
    isThrottled(service, { account, region }) {
      const limit = limits.get(service);
      if (limit === undefined) return false;
      const key = `${account}/${region}`;
      const bucket = limit.buckets.get(key) ?? createTokenBucket(limit.options, now);
      limit.buckets.set(key, bucket);
      return !bucket.take();
    },
    nextFailure(action) {
      const failure = [...failures].find((one) => one.action === action && one.left > 0);
      if (failure !== undefined) failure.left -= 1;
      return failure?.fault;
    },
  };
}

function added<T>(set: Set<T>, entry: T): () => void {
  set.add(entry);
  return () => void set.delete(entry);
}
