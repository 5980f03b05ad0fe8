import {
  type HttpAnswer,
  type HttpCall,
  type HttpService,
  json,
  jsonRefusal,
  startHttpService,
} from './http-service.ts';

/** An update, as the fake keeps it. */
export interface FakeUpdate {
  readonly id: string;
  readonly status: string;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly errors?: readonly unknown[];
}

/** One EKS cluster of the fake. Fields of `cluster` and `nodegroups` are sent as they are: times are seconds. */
export interface FakeEksCluster {
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly authorities: readonly Readonly<Record<string, unknown>>[];
  readonly nodegroups: Map<string, Record<string, unknown>>;
  /** By name of the group; of the cluster itself under ''. */
  readonly updates: Map<string, FakeUpdate[]>;
}

/** A fake of the REST API of EKS with one cluster, not EKS: what it does is only what its reference says of these calls, in the least way. */
export interface EksRestFake extends HttpService {
  readonly state: FakeEksCluster;
  /** Instead of the next answer to UpdateNodegroupVersion. `lost` does the update and does not answer. */
  refuseUpdate: HttpAnswer | 'lost' | undefined;
  /** By token: a call with a token that was seen begins nothing. */
  readonly tokens: ReadonlyMap<string, string>;
}

/**
 * Listens on 127.0.0.1. UpdateNodegroupVersion makes a group `UPDATING`, and an update `InProgress`.
 *
 * @param now milliseconds since the epoch
 */
export async function startEksRestFake(state: FakeEksCluster, now: () => number): Promise<EksRestFake> {
  const tokens = new Map<string, string>();
  const service = await startHttpService((call) => answer(call));
  const fake: EksRestFake = Object.assign(service, { state, tokens, refuseUpdate: undefined });

  const updatesOf = (call: HttpCall): FakeUpdate[] => state.updates.get(call.query.get('nodegroupName') ?? '') ?? [];
  const answer = (call: HttpCall): HttpAnswer | undefined => {
    const [, , cluster, kind, part, action] = call.path.split('/').map(decodeURIComponent);
    if (cluster !== state.cluster['name']) return jsonRefusal('ResourceNotFoundException', 404);
    if (kind === undefined) return json({ cluster: state.cluster });
    if (kind === 'certificate-authorities') {
      const one = state.authorities.find(({ id }) => id === part);
      return part === undefined
        ? json({ certificateAuthorities: state.authorities })
        : one === undefined
          ? jsonRefusal('ResourceNotFoundException', 404)
          : json({ certificateAuthority: one });
    }
    if (kind === 'updates') {
      if (part === undefined) return json({ updateIds: updatesOf(call).map(({ id }) => id) });
      const one = updatesOf(call).find(({ id }) => id === part);
      return one === undefined
        ? jsonRefusal('ResourceNotFoundException', 404)
        : json({ update: { ...one, createdAt: one.createdAt / 1000 } });
    }
    if (kind !== 'node-groups') return jsonRefusal('ResourceNotFoundException', 404);
    if (part === undefined) return json({ nodegroups: [...state.nodegroups.keys()] });
    const group = state.nodegroups.get(part);
    if (group === undefined) return jsonRefusal('ResourceNotFoundException', 404);
    if (action === undefined) return json({ nodegroup: { nodegroupName: part, ...group } });
    return action === 'update-version' ? begin(part, group, call) : jsonRefusal('ResourceNotFoundException', 404);
  };
  const begin = (name: string, group: Record<string, unknown>, call: HttpCall): HttpAnswer | undefined => {
    const refused = fake.refuseUpdate;
    fake.refuseUpdate = undefined;
    if (refused !== undefined && refused !== 'lost') return refused;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the SDK sends
    const { clientRequestToken = '' } = JSON.parse(call.body) as { readonly clientRequestToken?: string };
    const known = tokens.get(clientRequestToken);
    if (known === undefined && group['status'] === 'UPDATING') return jsonRefusal('ResourceInUseException', 409);
    const id = known ?? `00000000-0000-4000-8000-${String(tokens.size).padStart(12, '0')}`;
    if (known === undefined) {
      tokens.set(clientRequestToken, id);
      group['status'] = 'UPDATING';
      const update = { id, status: 'InProgress', type: 'VersionUpdate', createdAt: now() };
      state.updates.set(name, [...(state.updates.get(name) ?? []), update]);
    }
    return refused === 'lost' ? { status: 503 } : json({ update: { id, status: 'InProgress', type: 'VersionUpdate' } });
  };
  return fake;
}

/** EKS ends all updates that are in progress. */
export function endUpdates(
  { state }: Pick<EksRestFake, 'state'>,
  status: 'Successful' | 'Failed',
  errors: readonly unknown[] = [],
): void {
  for (const [name, updates] of state.updates) {
    state.updates.set(
      name,
      updates.map((update) => (update.status === 'InProgress' ? { ...update, status, errors } : update)),
    );
    const group = state.nodegroups.get(name);
    if (group !== undefined) group['status'] = 'ACTIVE';
  }
}
