import type { IncomingHttpHeaders } from 'node:http';
import type { AwsFault } from './aws-fault.ts';

/** As the credential scope of a signature names them. */
export const SERVICES = ['ec2', 'eks', 'lambda', 's3', 'secretsmanager', 'sns', 'sts'] as const;
export type ServiceName = (typeof SERVICES)[number];

/** One Region of one account: where clusters, instances, buckets and secrets are. */
export interface Place {
  /** Twelve digits. */
  readonly account: string;
  readonly region: string;
}

/** Who calls: a role of an account, or, without a role, the administrator of the account. */
export interface Principal {
  readonly account: string;
  /** ARN. */
  readonly role?: string;
}

export interface Caller extends Principal {
  /** Of the credential scope: the Region that is called. */
  readonly region: string;
  /** `arn:aws:sts::…:assumed-role/…` or `arn:aws:iam::…:user/administrator`. */
  readonly arn: string;
  /** Whether `deny` was not told to refuse the action to this caller. */
  may(action: string): boolean;
}

export interface AwsRequest {
  readonly method: string;
  /** With the host that the client called. */
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface AwsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** How a service is spoken to. */
export interface Protocol<Input> {
  /** @throws AwsFault when the request names no operation of the service. */
  read(request: AwsRequest): { readonly action: string; readonly input: Input };
  refuse(fault: AwsFault): AwsAnswer;
}

/** A service of the simulated AWS. */
export interface Service<Input> {
  readonly protocol: Protocol<Input>;
  /** What IAM is asked for, without the prefix of the service. @default the action */
  permissions?(action: string, input: Input): readonly string[];
  /** @throws AwsFault */
  handle(action: string, input: Input, caller: Caller): AwsAnswer | Promise<AwsAnswer>;
}

/** A thing that exists once for each place and name. */
export function placed({ account, region }: Place, name = ''): string {
  return `${account}/${region}/${name}`;
}
