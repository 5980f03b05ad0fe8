/** Ids from `first` to `last`, both included. */
function range(prefix: string, first: number, last: number, why: string): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: last - first + 1 }, (_, index) => [`${prefix}${first + index}`, why] as const),
  );
}

const SERVED = 'the certificate that a kubelet serves now as proof: no source of evidence here';

/**
 * Scenarios of peers that are no input of a decision on a kubelet serving request, and why. Every other scenario is a row
 * of a `*.test.ts` beside this file.
 */
export const EXCLUSIONS: Readonly<Record<string, string>> = {
  ...range('AX', 10, 11, 'answers of the SubjectAccessReview API: certmarshal asks none, the verdict is pure'),
  AX12: 'the write of the approval fails: the verdict is made before it',
  CM45: SERVED,
  CM46: SERVED,
  ...range('CM', 49, 60, SERVED),
  ...range(
    'CM',
    61,
    69,
    'counts pending requests of all requesters: here each requester is counted (siblings.test.ts)',
  ),
  ...range('CM', 70, 71, 'limit of pending requests of a whole cluster: here each requester has its own'),
  ...range('GK', 3, 6, 'which API calls the controller makes after it recognised a request'),
  ...range('GK', 7, 11, 'how the controller maps results of its validator and its hook to API calls'),
  GK32: 'malformed Google Cloud project name in the flags of the controller',
  ...range('GK', 34, 45, 'checks the attestation of a client request by a TPM: no such block is read here, see GK33'),
  ...range('GK', 46, 51, 'deletes stale Nodes before it approves a client certificate: certmarshal writes no Node'),
  UP45: 'how a kubelet waits for its request',
  ...range('AP', 2, 4, 'policy that allows an otherName by OID: no policy here can, see AP1'),
  AP26: 'a policy selector that fails to evaluate: policies here are data, checked when they are loaded',
};
