import { randomBytes } from 'node:crypto';
import type { Principal } from './service.ts';

/** A role that exists, and who may assume it. */
export interface SimulatedRole {
  /** `arn:aws:iam::<account>:role/<name>` */
  readonly arn: string;
  /** ARNs of roles, or account ids, which stand for everybody there. */
  readonly trusts: readonly string[];
  readonly externalId?: string;
}

/** Temporary or lasting keys of a principal. None opens anything outside this process. */
export interface SimulatedKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** An assumed role. */
export interface Session {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type Identified =
  | { readonly ok: true; readonly principal: Principal; readonly arn: string }
  | { readonly ok: false; readonly fault: 'unknown-key' | 'expired' };

/** Who is who. Access key ids are opaque; twelve digits are the administrator of that account. */
export interface Identity {
  /** Creates or replaces a role. */
  putRole(role: SimulatedRole): void;
  /** Deletes a role: it cannot be assumed any more, and its keys are unknown. */
  removeRole(arn: string): void;
  role(arn: string): SimulatedRole | undefined;
  /** Keys of a role without AssumeRole, as the runtime of a function has them. */
  keysOf(principal: Principal): SimulatedKeys;
  openSession(role: SimulatedRole, session: Session): SimulatedKeys;
  /** Ends the sessions of a role at once, as if their time were over. */
  expireSessions(roleArn: string): void;
  identify(accessKeyId: string): Identified;
  /** All keys so far: what must be found nowhere else. */
  readonly issued: readonly SimulatedKeys[];
  /** All sessions so far, the oldest first: what was asked for in AssumeRole. */
  readonly sessions: readonly (Session & { readonly role: string })[];
}

interface Key {
  readonly principal: Principal;
  readonly session?: Session;
  expired?: boolean;
}

const RUNTIME_SESSION = 'runtime';

export function createIdentity(now: () => number): Identity {
  const roles = new Map<string, SimulatedRole>();
  const keys = new Map<string, Key>();
  const sessions: (Session & { readonly role: string })[] = [];
  const issued: SimulatedKeys[] = [];

  const issue = (key: Key): SimulatedKeys => {
    // Real ones are as long; the prefix tells temporary keys.
    const accessKeyId = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`;
    keys.set(accessKeyId, key);
    const secretAccessKey = randomBytes(30).toString('base64');
    const sessionToken = `token-of-${accessKeyId}-${randomBytes(96).toString('base64')}`;
    const made = { accessKeyId, secretAccessKey, sessionToken };
    issued.push(made);
    return made;
  };

  return {
    sessions,
    issued,
    putRole: (role) => void roles.set(role.arn, role),
    removeRole(arn) {
      roles.delete(arn);
      for (const [id, { principal }] of keys) if (principal.role === arn) keys.delete(id);
    },
    role: (arn) => roles.get(arn),
    keysOf: (principal) => issue({ principal }),
    openSession(role, session) {
      sessions.push({ ...session, role: role.arn });
      return issue({ principal: { account: accountOf(role.arn), role: role.arn }, session });
    },
    expireSessions(roleArn) {
      for (const key of keys.values()) if (key.principal.role === roleArn) key.expired = true;
    },
    identify(accessKeyId) {
      if (/^\d{12}$/.test(accessKeyId)) {
        const principal = { account: accessKeyId };
        return { ok: true, principal, arn: `arn:aws:iam::${accessKeyId}:user/administrator` };
      }
      const key = keys.get(accessKeyId);
      if (key === undefined) return { ok: false, fault: 'unknown-key' };
      const { principal, session, expired = false } = key;
      if (expired || (session !== undefined && session.expiresAt <= now())) return { ok: false, fault: 'expired' };
      return { ok: true, principal, arn: arnOf(principal, session?.name ?? RUNTIME_SESSION) };
    },
  };
}

/** The account of an ARN. */
export function accountOf(arn: string): string {
  return arn.split(':')[4] ?? '';
}

/** `arn:aws:sts::<account>:assumed-role/<role>/<session>`: the path of the role is not in it. */
export function assumedRoleArn(roleArn: string, session: string): string {
  const name = roleArn.slice(roleArn.lastIndexOf('/') + 1);
  return `arn:aws:sts::${accountOf(roleArn)}:assumed-role/${name}/${session}`;
}

function arnOf({ account, role }: Principal, session: string): string {
  return role === undefined ? `arn:aws:iam::${account}:user/administrator` : assumedRoleArn(role, session);
}
