import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { AwsFault } from './aws-fault.ts';
import { createEc2, type SimulatedEc2 } from './ec2.ts';
import { createEks, type SimulatedEks } from './eks.ts';
import { createIdentity, type Identity } from './identity.ts';
import { createLambda, type SimulatedLambda } from './lambda.ts';
import { createRules, type Rules } from './rules.ts';
import { createS3, type SimulatedS3 } from './s3.ts';
import { createSecretsManager, type SimulatedSecretsManager } from './secrets-manager.ts';
import type { AwsAnswer, AwsRequest, Caller, Place, Principal, Service, ServiceName } from './service.ts';
import { commonFault } from './service-faults.ts';
import { type CredentialScope, credentialScope } from './signature.ts';
import { createSns, type SimulatedSns } from './sns.ts';
import { createSts } from './sts.ts';

export interface SimulatedAwsOptions {
  /** What sessions and buckets of tokens live by. Signatures are of real time. */
  readonly clock: Clock;
}

/** A call that was answered. */
export interface AwsCall extends Place, Principal {
  readonly service: ServiceName;
  /** `ListClusters` */
  readonly action: string;
  readonly status: number;
  /** Why it was refused. */
  readonly code?: string;
}

/** An AWS that exists in this process only, listening on 127.0.0.1. Real SDK clients talk to it. */
export interface SimulatedAws extends Rules, AsyncDisposable {
  /** `http://127.0.0.1:<port>`: for `endpoint` or `AWS_ENDPOINT_URL`. */
  readonly url: string;
  /** The last calls, the oldest first. */
  readonly calls: readonly AwsCall[];
  readonly identity: Identity;
  readonly ec2: SimulatedEc2;
  readonly eks: SimulatedEks;
  readonly lambda: SimulatedLambda;
  readonly s3: SimulatedS3;
  readonly secretsManager: SimulatedSecretsManager;
  readonly sns: SimulatedSns;
  /** How far the clock of this AWS is ahead of the clients'. What is further off than
   * five minutes is refused, by S3 than fifteen. */
  skewMs: number;
}

const MAX_CALLS = 20_000;
/** The registry of 10,000 clusters has 14 MB. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_SKEW_MS = 5 * 60_000;
const MAX_SKEW_OF_S3_MS = 15 * 60_000;

/** Starts an AWS with nothing in it. */
export async function startSimulatedAws({ clock }: SimulatedAwsOptions): Promise<SimulatedAws> {
  const now = (): number => clock.now();
  const calls: AwsCall[] = [];
  const rules = createRules(now);
  const identity = createIdentity(now);

  const listener = createServer((message, response) => {
    answer(message).then(
      ({ status, headers, body }) => {
        const date = new Date(Date.now() + aws.skewMs).toUTCString();
        response.writeHead(status, { ...headers, date, 'content-length': Buffer.byteLength(body) }).end(body);
      },
      (error: unknown) => {
        // A client that goes away in the middle of its request is no fault of ours.
        if (!message.destroyed) throw error;
      },
    );
  });
  // As long as a pooled connection may rest: else it ends just when a client wants to use it.
  listener.keepAliveTimeout = 180_000;
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- listening on a port, not on a pipe
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;

  const ec2 = createEc2();
  const eks = createEks();
  const lambda = createLambda();
  const s3 = createS3();
  const secretsManager = createSecretsManager(now);
  const sns = createSns();
  const services: Readonly<Record<ServiceName, Served>> = {
    ec2: served(ec2),
    eks: served(eks),
    lambda: served(lambda),
    s3: served(s3),
    secretsmanager: served(secretsManager),
    sns: served(sns),
    sts: served(createSts(identity, now)),
  };

  /** @throws AwsFault when the signature proves nobody. */
  const callerOf = ({ service, accessKeyId, region, signedAt }: CredentialScope): Caller => {
    const identified = identity.identify(accessKeyId);
    if (!identified.ok) throw commonFault(service, identified.fault);
    const { principal, arn } = identified;
    if (rules.isDisabled({ account: principal.account, region })) throw commonFault(service, 'unknown-key');
    const maxSkewMs = service === 's3' ? MAX_SKEW_OF_S3_MS : MAX_SKEW_MS;
    if (!(Math.abs(Date.now() + aws.skewMs - signedAt) <= maxSkewMs)) throw commonFault(service, 'skewed');
    return { ...principal, region, arn, may: (action) => !rules.isDenied(action, principal) };
  };

  const admit = (service: ServiceName, action: string, permissions: readonly string[], caller: Caller): void => {
    if (rules.isThrottled(service, caller)) throw commonFault(service, 'throttled');
    const failure = rules.nextFailure(`${service}:${action}`);
    if (failure !== undefined) throw failure;
    const missing = permissions.map((permission) => `${service}:${permission}`).find((one) => !caller.may(one));
    if (missing === undefined) return;
    throw commonFault(service, 'denied', `User: ${caller.arn} is not authorized to perform: ${missing}`);
  };

  const answer = async (message: IncomingMessage): Promise<AwsAnswer> => {
    const request = await readRequest(message, url);
    const scope = credentialScope(request);
    if (scope === undefined) return NOT_SIGNED;
    const { service, region } = scope;
    const asked = services[service];
    let action = '';
    let caller: Caller | undefined;
    let code: string | undefined;
    let status = 0;
    try {
      caller = callerOf(scope);
      const operation = asked.open(request);
      action = operation.action;
      admit(service, action, operation.permissions, caller);
      const answered = await operation.handle(caller);
      status = answered.status;
      return answered;
    } catch (error) {
      if (!(error instanceof AwsFault)) throw error;
      ({ code, status } = error);
      return asked.refuse(error);
    } finally {
      const { account = '', role } = caller ?? {};
      calls.push({ service, action, account, region, status, role, code });
      if (calls.length > MAX_CALLS) calls.splice(0, MAX_CALLS / 2);
    }
  };

  let closed: Promise<unknown> | undefined;
  const aws: SimulatedAws = {
    ...rules,
    url,
    calls,
    identity,
    ec2,
    eks,
    lambda,
    s3,
    secretsManager,
    sns,
    skewMs: 0,
    async [Symbol.asyncDispose]() {
      if (closed === undefined) {
        closed = once(listener, 'close');
        listener.close();
        listener.closeAllConnections();
      }
      await closed;
    },
  };
  return aws;
}

/** A service of which nobody needs to know what its input looks like. */
interface Served {
  open(request: AwsRequest): {
    readonly action: string;
    readonly permissions: readonly string[];
    handle(caller: Caller): AwsAnswer | Promise<AwsAnswer>;
  };
  refuse(fault: AwsFault): AwsAnswer;
}

function served<Input>(service: Service<Input>): Served {
  return {
    open(request) {
      const { action, input } = service.protocol.read(request);
      return {
        action,
        permissions: service.permissions?.(action, input) ?? [action],
        handle: (caller) => service.handle(action, input, caller),
      };
    },
    refuse: (fault) => service.protocol.refuse(fault),
  };
}

const NOT_SIGNED: AwsAnswer = {
  status: 403,
  headers: { 'content-type': 'application/json', 'x-amzn-errortype': 'MissingAuthenticationToken' },
  body: JSON.stringify({ message: 'Missing Authentication Token' }),
};

async function readRequest(message: IncomingMessage, base: string): Promise<AwsRequest> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY_BYTES) throw new Error(`a request of more than ${MAX_BODY_BYTES} bytes`);
    pieces.push(piece);
  }
  const { method = '', url = '', headers } = message;
  const { host = new URL(base).host } = headers;
  return { method, url: new URL(url, `http://${host}`), headers, body: Buffer.concat(pieces) };
}
