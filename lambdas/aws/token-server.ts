import type { Problem } from '../contracts/problem.ts';
import { printable } from '../printable.ts';
import type { IsEksEndpoint } from './eks-endpoint.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** EKS Anywhere creates a UUID for each cluster; EKS uses the cluster name. */
export function isAuthenticatorUuid(id: string): boolean {
  return UUID.test(id);
}

/** The purpose of a token signed by our own role. */
export interface TokenSubject {
  readonly authenticatorId: string;
  /** The cluster is known to be an EKS cluster, so even a UUID is its name. */
  readonly isEks: boolean;
  /** Undefined if only a kubeconfig names the server. */
  readonly region?: string | undefined;
}

/**
 * Why a server must not receive a token of our own role; undefined if it may. A token with the name of an EKS cluster
 * is valid for every EKS cluster of that name, so only hosts of EKS get one. The server of an EKS Anywhere cluster is
 * where its owner says. Pure.
 *
 * @param server URL of the API server
 */
export function whyNoToken(
  server: string,
  { authenticatorId, isEks, region }: TokenSubject,
  isEksEndpoint: IsEksEndpoint,
): Pick<Problem, 'message' | 'remedy'> | undefined {
  if ((!isEks && isAuthenticatorUuid(authenticatorId)) || isEksEndpoint(server, region)) return undefined;
  const place = region === undefined ? 'any Region' : `Region ${region}`;
  return {
    message: `its endpoint ${printable(server, 300)} is not an EKS endpoint in ${place}, so no token is signed for it`,
    remedy: `Compare it with aws eks describe-cluster. If EKS shows another one, find out who else writes to the state bucket or the secret. If EKS names this one, its partition is newer than this certmarshal: update certmarshal.`,
  };
}
