import { AwsFault } from './aws-fault.ts';
import type { ServiceName } from './service.ts';

/** What every service refuses, and each with words of its own. */
export type CommonFault = 'unknown-key' | 'expired' | 'skewed' | 'denied' | 'throttled';

/**
 * Status and code of each common refusal. A Region that is not enabled in the account does not know the key: the services
 * answer the same as for a key that never was.
 *
 * Source: "Common errors" in the API reference of each service; EC2 "Error codes for the Amazon EC2 API"; S3 "Error responses".
 */
const FAULTS: Readonly<Record<ServiceName, Readonly<Record<CommonFault, readonly [number, string]>>>> = {
  ec2: {
    'unknown-key': [401, 'AuthFailure'],
    expired: [400, 'RequestExpired'],
    skewed: [400, 'RequestExpired'],
    denied: [403, 'UnauthorizedOperation'],
    throttled: [503, 'RequestLimitExceeded'],
  },
  eks: {
    'unknown-key': [403, 'UnrecognizedClientException'],
    expired: [403, 'ExpiredTokenException'],
    skewed: [403, 'InvalidSignatureException'],
    denied: [403, 'AccessDeniedException'],
    throttled: [429, 'ThrottlingException'],
  },
  lambda: {
    'unknown-key': [403, 'UnrecognizedClientException'],
    expired: [403, 'ExpiredTokenException'],
    skewed: [403, 'InvalidSignatureException'],
    denied: [403, 'AccessDeniedException'],
    throttled: [429, 'TooManyRequestsException'],
  },
  s3: {
    'unknown-key': [403, 'InvalidAccessKeyId'],
    expired: [400, 'ExpiredToken'],
    skewed: [403, 'RequestTimeTooSkewed'],
    denied: [403, 'AccessDenied'],
    throttled: [503, 'SlowDown'],
  },
  secretsmanager: {
    'unknown-key': [400, 'UnrecognizedClientException'],
    expired: [400, 'ExpiredTokenException'],
    skewed: [400, 'InvalidSignatureException'],
    denied: [400, 'AccessDeniedException'],
    throttled: [400, 'ThrottlingException'],
  },
  sns: {
    'unknown-key': [403, 'InvalidClientTokenId'],
    expired: [403, 'ExpiredToken'],
    skewed: [403, 'SignatureDoesNotMatch'],
    denied: [403, 'AuthorizationError'],
    throttled: [400, 'Throttled'],
  },
  sts: {
    'unknown-key': [403, 'InvalidClientTokenId'],
    expired: [403, 'ExpiredToken'],
    skewed: [403, 'SignatureDoesNotMatch'],
    denied: [403, 'AccessDenied'],
    throttled: [400, 'Throttling'],
  },
};

const MESSAGES: Readonly<Record<CommonFault, string>> = {
  'unknown-key': 'The security token included in the request is invalid.',
  expired: 'The security token included in the request is expired',
  skewed: 'Signature expired: the date of the signature is too far from the time of the service',
  denied: 'Access denied',
  throttled: 'Rate exceeded',
};

export function commonFault(service: ServiceName, fault: CommonFault, message = MESSAGES[fault]): AwsFault {
  const [status, code] = FAULTS[service][fault];
  return new AwsFault(status, code, message);
}
