import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PATIENCE_MS } from '../patience.ts';
import { makeRequest, toPem } from '../unit/x509/request-factory.ts';
import type { TokenUser } from './api-server.ts';
import { type Answer, type Call, type Caller, callerOf } from './call.ts';
import { createServingRequest } from './serving-request.ts';

/** A server under contract. It serves Cluster API's Machine, and its signer issues for at most {@link SIGNING_HOURS}. */
export interface ContractServer {
  readonly server: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** The authority that issues certificates, PEM. */
  readonly signerCaPem: string;
  /** Token of one of {@link CONTRACT_USERS}. */
  tokenFor(user: string): string;
  stop(): Promise<void>;
}

/** The longest life of a certificate. */
export const SIGNING_HOURS = 24;

const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const NODES = '/api/v1/nodes';
const MACHINES = '/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines';
const SIGNER = 'kubernetes.io/kubelet-serving';

const update = {
  apiGroups: ['certificates.k8s.io'],
  resources: ['certificatesigningrequests/approval'],
  verbs: ['update'],
};
const approve = { apiGroups: ['certificates.k8s.io'], resources: ['signers'], verbs: ['approve'] };

/** The users that a server under contract knows, besides its administrator. */
export const CONTRACT_USERS = [
  { name: 'nobody', rules: [] },
  { name: 'updater', rules: [update] },
  { name: 'approver', rules: [update, { ...approve, resourceNames: [SIGNER] }] },
  { name: 'domain-approver', rules: [update, { ...approve, resourceNames: ['kubernetes.io/*'] }] },
  { name: 'other-approver', rules: [update, { ...approve, resourceNames: ['example.com/*'] }] },
] as const satisfies readonly TokenUser[];

/** How an object differs from what {@link csrOf} makes. */
interface Wanted {
  readonly metadata?: object;
  readonly spec?: object;
}

/** A kubelet's request for `worker-1`, ready to be posted. */
function csrOf({ metadata = { generateName: 'csr-' }, spec = {} }: Wanted = {}) {
  const { pem } = createServingRequest('worker-1', { dnsNames: ['worker-1'], ipAddresses: ['10.0.0.11'] });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata,
    spec: { request: base64(pem), signerName: SIGNER, usages: ['digital signature', 'server auth'], ...spec },
  };
}

function base64(text: string | Uint8Array): string {
  return Buffer.from(text).toString('base64');
}

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of the server
function withConditions(csr: any, ...conditions: readonly object[]) {
  return { ...csr, status: { conditions } };
}

const asNode: Call = { headers: { 'impersonate-user': 'system:node:worker-1', 'impersonate-group': ['system:nodes'] } };

const approved = { type: 'Approved', status: 'True', reason: 'Test', message: 'approved by a test' };
const denied = { ...approved, type: 'Denied' };
const failed = { ...approved, type: 'Failed' };

function machineOf(name: string, clusterName: string) {
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name, labels: { 'cluster.x-k8s.io/cluster-name': clusterName } },
    spec: { clusterName, bootstrap: {}, infrastructureRef: {} },
    status: { phase: 'Running' },
  };
}

function namesOf(list: { readonly items: readonly { readonly metadata: { readonly name: string } }[] }): string[] {
  return list.items.map(({ metadata }) => metadata.name);
}

/** A Status object of a failure, exactly. */
function failure(code: number, reason: string, message: string, details?: object): object {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
  return details === undefined ? status : { ...status, details };
}

const csrKind = { group: 'certificates.k8s.io', kind: 'certificatesigningrequests' };

/**
 * What certmarshal relies on in an API server, as tests. They run against the simulated server and against the real one:
 * where one of them fails, the simulator is wrong.
 *
 * @param options for `describe`, to skip the suite.
 */
export function describeApiContract(
  name: string,
  start: () => Promise<ContractServer>,
  options: { readonly skip?: boolean } = {},
): void {
  describe(`API contract: ${name}`, options, () => {
    let subject: ContractServer;
    let call: Caller;

    beforeAll(async () => {
      subject = await start();
      call = callerOf(subject.server, subject.caPem, subject.adminToken);
    });

    afterAll(async () => {
      call?.close();
      await subject?.stop();
    });

    /** Creates it as the node, with a name of its own, and returns it as the server stored it. */
    const createCsr = async (wanted?: Wanted) => {
      const answer = await call('POST', CSRS, { ...asNode, body: csrOf(wanted) });
      expect(answer).toMatchObject({ status: 201 });
      return answer.json;
    };
    const putApproval = (csrName: string, body: unknown, more: Call = {}): Promise<Answer> =>
      call('PUT', `${CSRS}/${csrName}/approval`, { ...more, body });
    const createNamed = (prefix: string, names: readonly string[], signerName: string) =>
      Promise.all(names.map((one) => createCsr({ metadata: { name: `${prefix}-${one}` }, spec: { signerName } })));
    const listCsrs = async (query: Readonly<Record<string, string>>) =>
      (await call('GET', `${CSRS}?${new URLSearchParams(query).toString()}`)).json;

    const createMachine = async (machineName: string, clusterName: string) => {
      const answer = await call('POST', MACHINES, { body: machineOf(machineName, clusterName) });
      expect(answer.status).toBe(201);
      return answer.json;
    };

    /** The status of a request when the signer has done with it. */
    const settled = async (csrName: string) => {
      for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; ) {
        const { status } = (await call('GET', `${CSRS}/${csrName}`)).json;
        const isFailed = status.conditions?.some(({ type }: { type: string }) => type === 'Failed');
        if (isFailed || status.certificate !== undefined) return status;
      }
      throw new Error(`${csrName} is neither issued nor failed after ${PATIENCE_MS} ms`);
    };

    describe('who may do what', () => {
      it('does not know a wrong token', async () => {
        const answer = await call('GET', CSRS, { token: 'wrong' });
        expect(answer.status).toBe(401);
        expect(answer.headers['content-type']).toBe('application/json');
        expect(answer.json).toEqual(failure(401, 'Unauthorized', 'Unauthorized'));
      });

      it.each([
        ['nobody', { verb: 'list', group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }, false],
        ['approver', { verb: 'approve', group: 'certificates.k8s.io', resource: 'signers', name: SIGNER }, true],
        [
          'approver',
          { verb: 'approve', group: 'certificates.k8s.io', resource: 'signers', name: 'example.com/x' },
          false,
        ],
        [
          'updater',
          {
            verb: 'update',
            group: 'certificates.k8s.io',
            resource: 'certificatesigningrequests',
            subresource: 'approval',
          },
          true,
        ],
        ['updater', { verb: 'update', group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }, false],
      ] as const)('tells %s whether it may %j', async (user, resourceAttributes, allowed) => {
        const answer = await call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
          token: subject.tokenFor(user),
          body: {
            apiVersion: 'authorization.k8s.io/v1',
            kind: 'SelfSubjectAccessReview',
            spec: { resourceAttributes },
          },
        });
        expect(answer).toMatchObject({ status: 201, json: { status: { allowed } } });
      });

      it('takes a request without a token for an anonymous one', async () => {
        const answer = await call('GET', CSRS, { token: undefined });
        expect(answer.status).toBe(403);
        expect(answer.json.message).toContain('User "system:anonymous" cannot list resource');
      });

      it.each([
        {
          what: 'list requests',
          method: 'GET',
          path: CSRS,
          message:
            'certificatesigningrequests.certificates.k8s.io is forbidden: User "nobody" cannot list resource "certificatesigningrequests" in API group "certificates.k8s.io" at the cluster scope',
          details: csrKind,
        },
        {
          what: 'get a request that does not exist',
          method: 'GET',
          path: `${CSRS}/absent`,
          message:
            'certificatesigningrequests.certificates.k8s.io "absent" is forbidden: User "nobody" cannot get resource "certificatesigningrequests" in API group "certificates.k8s.io" at the cluster scope',
          details: { ...csrKind, name: 'absent' },
        },
        {
          what: 'approve',
          method: 'PUT',
          path: `${CSRS}/absent/approval`,
          message:
            'certificatesigningrequests.certificates.k8s.io "absent" is forbidden: User "nobody" cannot update resource "certificatesigningrequests/approval" in API group "certificates.k8s.io" at the cluster scope',
          details: { ...csrKind, name: 'absent' },
        },
        {
          what: 'list nodes',
          method: 'GET',
          path: NODES,
          message:
            'nodes is forbidden: User "nobody" cannot list resource "nodes" in API group "" at the cluster scope',
          details: { kind: 'nodes' },
        },
        {
          what: 'list machines everywhere',
          method: 'GET',
          path: '/apis/cluster.x-k8s.io/v1beta2/machines',
          message:
            'machines.cluster.x-k8s.io is forbidden: User "nobody" cannot list resource "machines" in API group "cluster.x-k8s.io" at the cluster scope',
          details: { group: 'cluster.x-k8s.io', kind: 'machines' },
        },
        {
          what: 'list machines in a namespace',
          method: 'GET',
          path: MACHINES,
          message:
            'machines.cluster.x-k8s.io is forbidden: User "nobody" cannot list resource "machines" in API group "cluster.x-k8s.io" in the namespace "default"',
          details: { group: 'cluster.x-k8s.io', kind: 'machines' },
        },
      ])('says what a user without rights may not do: $what', async ({ method, path, message, details }) => {
        const body = method === 'PUT' ? { body: csrOf({ metadata: { name: 'absent' } }) } : {};
        const answer = await call(method, path, { token: subject.tokenFor('nobody'), ...body });
        expect(answer.status).toBe(403);
        expect(answer.json).toEqual(failure(403, 'Forbidden', message, details));
      });

      it('lets only some impersonate', async () => {
        const answer = await call('GET', CSRS, { ...asNode, token: subject.tokenFor('nobody') });
        expect(answer.status).toBe(403);
        expect(answer.json.reason).toBe('Forbidden');
      });

      it('wants a user to impersonate, not only groups', async () => {
        const answer = await call('GET', CSRS, { headers: { 'impersonate-group': 'system:nodes' } });
        expect(answer.status).toBe(400);
        expect(answer.json.reason).toBe('BadRequest');
      });
    });

    describe('creating a request', () => {
      it('fills in who asked, and believes nothing of what the client says about that', async () => {
        const wanted = csrOf({
          metadata: {
            generateName: 'csr-',
            uid: 'mine',
            creationTimestamp: '2020-01-01T00:00:00Z',
            labels: { a: 'b' },
          },
          spec: { username: 'system:admin', groups: ['system:masters'], uid: 'mine', expirationSeconds: 3600 },
        });
        const status = { conditions: [approved], certificate: base64('mine') };
        const { status: code, json: csr } = await call('POST', CSRS, { ...asNode, body: { ...wanted, status } });
        expect(code).toBe(201);
        expect(csr).toMatchObject({ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest' });
        expect(csr.metadata).toMatchObject({
          name: expect.stringMatching(/^csr-[a-z0-9]{5}$/),
          generateName: 'csr-',
          uid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
          resourceVersion: expect.stringMatching(/^\d+$/),
          creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          labels: { a: 'b' },
        });
        expect(csr.metadata.creationTimestamp).not.toBe('2020-01-01T00:00:00Z');
        expect(csr.spec).toEqual({
          request: wanted.spec.request,
          signerName: SIGNER,
          expirationSeconds: 3600,
          usages: ['digital signature', 'server auth'],
          username: 'system:node:worker-1',
          groups: ['system:nodes', 'system:authenticated'],
        });
        expect(csr.status).toEqual({});
      });

      it('keeps text around the PEM block, and blocks after it', async () => {
        const { pem } = createServingRequest('worker-1', { dnsNames: ['worker-1'], ipAddresses: [] });
        const request = base64(`text\n${pem}${pem}`);
        const csr = await createCsr({ spec: { request } });
        expect(csr.spec.request).toBe(request);
      });

      it('drops fields that it does not know', async () => {
        const csr = await createCsr({ spec: { flavour: 'unknown' } });
        expect(csr.spec).not.toHaveProperty('flavour', expect.anything());
      });

      it('does not take a name twice', async () => {
        await createCsr({ metadata: { name: 'twice' } });
        const answer = await call('POST', CSRS, { ...asNode, body: csrOf({ metadata: { name: 'twice' } }) });
        expect(answer.status).toBe(409);
        const message = 'certificatesigningrequests.certificates.k8s.io "twice" already exists';
        expect(answer.json).toEqual(failure(409, 'AlreadyExists', message, { ...csrKind, name: 'twice' }));
      });

      it.each([
        { what: 'no request', spec: { request: '' }, field: 'spec.request' },
        { what: 'no PEM', spec: { request: base64('garbage') }, field: 'spec.request' },
        {
          what: 'another PEM label',
          spec: { request: base64(toPem(makeRequest().der, 'CERTIFICATE')) },
          field: 'spec.request',
        },
        {
          what: 'truncated DER',
          spec: { request: base64(toPem(makeRequest().der.subarray(0, 90))) },
          field: 'spec.request',
        },
        {
          what: 'bytes after the DER',
          spec: { request: base64(toPem(Buffer.concat([makeRequest().der, Buffer.of(0)]))) },
          field: 'spec.request',
        },
        {
          what: 'a wrong signature',
          spec: { request: base64(makeRequest({ tamper: 'signature' }).pem) },
          field: 'spec.request',
        },
        {
          what: 'a changed subject',
          spec: { request: base64(makeRequest({ tamper: 'subject' }).pem) },
          field: 'spec.request',
        },
        { what: 'no usages', spec: { usages: [] }, field: 'spec.usages' },
        { what: 'an unknown usage', spec: { usages: ['server auth', 'foo'] }, field: 'spec.usages[1]' },
        { what: 'a usage twice', spec: { usages: ['server auth', 'server auth'] }, field: 'spec.usages[1]' },
        { what: 'no signer', spec: { signerName: '' }, field: 'spec.signerName' },
        { what: 'a signer without a domain', spec: { signerName: 'bad' }, field: 'spec.signerName' },
        { what: 'the legacy signer', spec: { signerName: 'kubernetes.io/legacy-unknown' }, field: 'spec.signerName' },
        { what: 'too short a life', spec: { expirationSeconds: 599 }, field: 'spec.expirationSeconds' },
      ])('refuses $what as invalid', async ({ spec, field }) => {
        const answer = await call('POST', CSRS, { body: csrOf({ spec }) });
        expect(answer.status).toBe(422);
        expect(answer.json).toMatchObject({ kind: 'Status', reason: 'Invalid', details: { causes: [{ field }] } });
      });

      it.each([{ key: 'p384' }, { key: 'rsa2048' }, { key: 'ed25519' }] as const)(
        'takes a $key key',
        async ({ key }) => {
          const { pem } = makeRequest({ commonName: 'system:node:worker-1', key });
          const csr = await createCsr({ spec: { request: base64(pem) } });
          expect(csr.spec.request).toBe(base64(pem));
        },
      );

      it.each([
        { what: 'no base64', body: () => csrOf({ spec: { request: '%%%' } }) },
        { what: 'text for a number', body: () => csrOf({ spec: { expirationSeconds: 'x' } }) },
        { what: 'no JSON', body: () => '{"kind":' },
        { what: 'another kind', body: () => ({ ...csrOf(), kind: 'Pod' }) },
        { what: 'another version', body: () => ({ ...csrOf(), apiVersion: 'v1' }) },
      ])('cannot read $what', async ({ body }) => {
        const answer = await call('POST', CSRS, { body: body() });
        expect(answer.status).toBe(400);
        expect(answer.json).toMatchObject({ kind: 'Status', reason: 'BadRequest', code: 400 });
      });

      it('wants a name', async () => {
        const answer = await call('POST', CSRS, { body: csrOf({ metadata: {} }) });
        expect(answer.status).toBe(422);
        expect(answer.json.details.causes[0]).toMatchObject({ field: 'metadata.name', reason: 'FieldValueRequired' });
      });

      it('takes bodies of up to 3 MiB', async () => {
        const answer = await call('POST', CSRS, { body: { ...csrOf(), padding: 'x'.repeat(3 * 1024 * 1024) } });
        expect(answer.status).toBe(413);
        expect(answer.json.reason).toBe('RequestEntityTooLarge');
      });

      it("does not let a node ask in another node's name", async () => {
        const headers = { 'impersonate-user': 'system:node:worker-2', 'impersonate-group': ['system:nodes'] };
        const answer = await call('POST', CSRS, { headers, body: csrOf({ metadata: { name: 'stolen' } }) });
        expect(answer.status).toBe(403);
        const message =
          'certificatesigningrequests.certificates.k8s.io "stolen" is forbidden: can only create a node CSR with CN=system:node:worker-2';
        expect(answer.json).toEqual(failure(403, 'Forbidden', message, { ...csrKind, name: 'stolen' }));
      });

      it('does not even read garbage of a node', async () => {
        const answer = await call('POST', CSRS, { ...asNode, body: csrOf({ spec: { request: base64('garbage') } }) });
        expect(answer.status).toBe(403);
        expect(answer.json.message).toContain('unable to parse csr');
      });

      it("does not ask what an administrator's request claims", async () => {
        const { status, json: csr } = await call('POST', CSRS, { body: csrOf() });
        expect(status).toBe(201);
        expect(csr.spec).toMatchObject({ username: 'admin', groups: ['system:masters', 'system:authenticated'] });
      });
    });

    describe('reading requests', () => {
      it('shows a request as it was stored', async () => {
        const csr = await createCsr();
        const answer = await call('GET', `${CSRS}/${csr.metadata.name}`);
        expect(answer.status).toBe(200);
        expect(answer.json).toEqual(csr);
      });

      it('says what it has not found', async () => {
        const answer = await call('GET', `${CSRS}/absent`);
        expect(answer.status).toBe(404);
        const message = 'certificatesigningrequests.certificates.k8s.io "absent" not found';
        expect(answer.json).toEqual(failure(404, 'NotFound', message, { ...csrKind, name: 'absent' }));
      });

      it('lists in the order of names, items without their kind', async () => {
        const signerName = 'example.com/ordered';
        await createNamed('ordered', ['c', 'a', 'b'], signerName);
        const page = await listCsrs({ fieldSelector: `spec.signerName=${signerName}` });
        expect(page).toMatchObject({
          kind: 'CertificateSigningRequestList',
          apiVersion: 'certificates.k8s.io/v1',
          metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
        });
        expect(namesOf(page)).toEqual(['ordered-a', 'ordered-b', 'ordered-c']);
        const stored = (await call('GET', `${CSRS}/ordered-a`)).json;
        const { metadata, spec, status } = stored;
        expect(page.items[0]).toEqual({ metadata, spec, status });
      });

      it('has an empty list for a signer that nobody asked', async () => {
        const page = await listCsrs({ fieldSelector: 'spec.signerName=example.com/nobody' });
        expect(page.items).toEqual([]);
      });

      it('selects by name and signer together', async () => {
        const signerName = 'example.com/both';
        await createNamed('both', ['a', 'b'], signerName);
        const both = await listCsrs({ fieldSelector: `spec.signerName=${signerName},metadata.name=both-b` });
        expect(namesOf(both)).toEqual(['both-b']);
      });

      it('tells how many are left when everything is listed', async () => {
        await createCsr();
        const all = await listCsrs({});
        const page = await listCsrs({ limit: '1' });
        expect(page.items).toHaveLength(1);
        expect(page.metadata.remainingItemCount).toBe(all.items.length - 1);
        expect(all.metadata).not.toHaveProperty('continue', expect.anything());
      });

      it('cuts a selection into pages', async () => {
        const signerName = 'example.com/pages';
        await createNamed('pages', ['a', 'b', 'c', 'd', 'e'], signerName);
        const fieldSelector = `spec.signerName=${signerName}`;
        const first = await listCsrs({ fieldSelector, limit: '2' });
        const second = await listCsrs({ fieldSelector, limit: '2', continue: first.metadata.continue });
        const third = await listCsrs({ fieldSelector, limit: '2', continue: second.metadata.continue });
        expect([first, second, third].map(namesOf)).toEqual([
          ['pages-a', 'pages-b'],
          ['pages-c', 'pages-d'],
          ['pages-e'],
        ]);
        expect(third.metadata).not.toHaveProperty('continue', expect.anything());
        expect(first.metadata).not.toHaveProperty('remainingItemCount', expect.anything());
      });

      it('ends a selection with an empty page when what follows is not selected', async () => {
        const signerName = 'example.com/last';
        await createNamed('last', ['a'], signerName);
        await createCsr({ metadata: { name: 'last-other' } });
        const first = await listCsrs({ fieldSelector: `spec.signerName=${signerName}`, limit: '1' });
        expect(namesOf(first)).toEqual(['last-a']);
        const continued = {
          fieldSelector: `spec.signerName=${signerName}`,
          limit: '1',
          continue: first.metadata.continue,
        };
        const second = await listCsrs(continued);
        expect(second.items).toEqual([]);
        expect(second.metadata).not.toHaveProperty('continue', expect.anything());
      });

      it('goes on in the state in which a list began', async () => {
        const signerName = 'example.com/snapshot';
        await createNamed('snapshot', ['a', 'b', 'd'], signerName);
        const fieldSelector = `spec.signerName=${signerName}`;
        const first = await listCsrs({ fieldSelector, limit: '1' });
        await createNamed('snapshot', ['c', 'e'], signerName);
        await call('DELETE', `${CSRS}/snapshot-d`);
        const rest = await listCsrs({ fieldSelector, continue: first.metadata.continue });
        expect(namesOf(rest)).toEqual(['snapshot-b', 'snapshot-d']);
        expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      });

      it.each([
        { what: 'a field that cannot be selected by', query: 'fieldSelector=spec.username%3Dx' },
        { what: 'a selector that is none', query: 'fieldSelector=garbage' },
        { what: 'a limit that is no number', query: 'limit=x' },
        { what: 'a continue token that is none', query: 'limit=2&continue=garbage' },
      ])('refuses $what', async ({ query }) => {
        const answer = await call('GET', `${CSRS}?${query}`);
        expect(answer.status).toBe(400);
        expect(answer.json).toMatchObject({ kind: 'Status', reason: 'BadRequest' });
      });
    });

    describe('approving', () => {
      // oxlint-disable-next-line typescript/no-explicit-any -- a request as JSON
      let csr: any;

      beforeAll(async () => {
        csr = await createCsr({ metadata: { name: 'undecided' } });
      });

      it('takes conditions, sets their times and changes nothing else', async () => {
        const fresh = await createCsr();
        const { apiVersion, kind, metadata } = fresh;
        const spec = { request: 'bWluZQ==', signerName: 'example.com/mine', usages: ['any'], username: 'system:admin' };
        const body = {
          apiVersion,
          kind,
          metadata,
          spec,
          status: { conditions: [approved], certificate: base64('mine') },
        };
        const answer = await putApproval(fresh.metadata.name, body);
        expect(answer.status).toBe(200);
        const { status, ...stored } = answer.json;
        expect(stored.spec).toEqual(fresh.spec);
        expect(Number(stored.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
        expect(stored.metadata).toMatchObject({ uid: metadata.uid, creationTimestamp: metadata.creationTimestamp });
        const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(status).toEqual({ conditions: [{ ...approved, lastUpdateTime: time, lastTransitionTime: time }] });
      });

      it('replaces labels, annotations and generateName by what is sent', async () => {
        const labelled = await createCsr({
          metadata: { generateName: 'csr-', labels: { a: 'b' }, annotations: { c: 'd' } },
        });
        const { name: csrName } = labelled.metadata;
        const answer = await putApproval(
          csrName,
          withConditions({ metadata: { name: csrName, labels: { e: 'f' } } }, denied),
        );
        expect(answer.status).toBe(200);
        expect(answer.json.metadata).toMatchObject({ labels: { e: 'f' }, uid: labelled.metadata.uid });
        expect(answer.json.metadata).not.toHaveProperty('annotations', expect.anything());
        expect(answer.json.metadata).not.toHaveProperty('generateName', expect.anything());
      });

      it('keeps the version when nothing changes', async () => {
        const fresh = await createCsr();
        const { json: once } = await putApproval(fresh.metadata.name, withConditions(fresh, denied));
        const { json: again } = await putApproval(fresh.metadata.name, once);
        expect(again).toEqual(once);
      });

      it('is in conflict when the request has changed since it was read', async () => {
        const fresh = await createCsr({ metadata: { name: 'raced' } });
        await putApproval('raced', withConditions(fresh, denied));
        const answer = await putApproval('raced', withConditions(fresh, approved));
        expect(answer.status).toBe(409);
        const message =
          'Operation cannot be fulfilled on certificatesigningrequests.certificates.k8s.io "raced": the object has been modified; please apply your changes to the latest version and try again';
        expect(answer.json).toEqual(failure(409, 'Conflict', message, { ...csrKind, name: 'raced' }));
      });

      it('is in conflict when the request was replaced under its name', async () => {
        const first = await createCsr({ metadata: { name: 'replaced' } });
        await call('DELETE', `${CSRS}/replaced`);
        const second = await createCsr({ metadata: { name: 'replaced' } });
        const { uid } = first.metadata;
        const { resourceVersion } = second.metadata;
        const body = withConditions({ metadata: { name: 'replaced', uid, resourceVersion } }, approved);
        const answer = await putApproval('replaced', body);
        expect(answer.status).toBe(409);
        expect(answer.json.reason).toBe('Conflict');
        expect(answer.json.message).toContain(`Precondition failed: UID in precondition: ${uid}`);
        expect((await call('GET', `${CSRS}/replaced`)).json.status).toEqual({});
      });

      it('is unconditional without a resourceVersion', async () => {
        const fresh = await createCsr();
        const { name: csrName } = fresh.metadata;
        await putApproval(csrName, withConditions({ metadata: { name: csrName } }, failed));
        const answer = await putApproval(csrName, withConditions({ metadata: { name: csrName } }, failed, approved));
        expect(answer.status).toBe(200);
      });

      it('knows what is gone', async () => {
        const answer = await putApproval('absent', withConditions({ ...csr, metadata: { name: 'absent' } }, approved));
        expect(answer.status).toBe(404);
        expect(answer.json.reason).toBe('NotFound');
      });

      it.each([
        { what: 'another name than in the path', metadata: { name: 'other' } },
        { what: 'no name', metadata: {} },
      ])('refuses $what', async ({ metadata }) => {
        const answer = await putApproval('undecided', withConditions({ metadata }, approved));
        expect(answer.status).toBe(400);
        expect(answer.json.reason).toBe('BadRequest');
      });

      it.each([
        {
          what: 'Approved/False',
          conditions: [{ ...approved, status: 'False' }],
          field: 'status.conditions[0].status',
        },
        {
          what: 'Denied/Unknown',
          conditions: [{ ...denied, status: 'Unknown' }],
          field: 'status.conditions[0].status',
        },
        { what: 'Failed/False', conditions: [{ ...failed, status: 'False' }], field: 'status.conditions[0].status' },
        { what: 'no status', conditions: [{ ...approved, status: undefined }], field: 'status.conditions[0].status' },
        { what: 'no type', conditions: [{ ...approved, type: '' }], field: 'status.conditions[0].type' },
        { what: 'Approved and Denied', conditions: [approved, denied], field: 'status.conditions' },
        { what: 'Denied and Approved', conditions: [denied, approved], field: 'status.conditions' },
        { what: 'Approved twice', conditions: [approved, approved], field: 'status.conditions[1].type' },
      ])('refuses $what', async ({ conditions, field }) => {
        const answer = await putApproval('undecided', withConditions(csr, ...conditions));
        expect(answer.status).toBe(422);
        expect(answer.json).toMatchObject({ reason: 'Invalid', details: { causes: [{ field }] } });
        expect((await call('GET', `${CSRS}/undecided`)).json).toEqual(csr);
      });

      it('takes conditions of other types with any status', async () => {
        const fresh = await createCsr();
        const custom = { type: 'Looked', status: 'False', reason: 'Test', message: 'm' };
        const answer = await putApproval(fresh.metadata.name, withConditions(fresh, custom));
        expect(answer.status).toBe(200);
        expect(answer.json.status.conditions[0]).toMatchObject(custom);
      });

      it.each([
        { what: 'removed', before: approved, after: [], message: 'may not remove a condition of type \\"Approved\\"' },
        {
          what: 'turned around',
          before: approved,
          after: [approved, denied],
          message: 'must specify at most one of: `conditions[',
        },
        {
          what: 'approved after denial',
          before: denied,
          after: [denied, approved],
          message: 'must specify at most one of: `conditions[',
        },
      ])('stands by its decision: $what', async ({ before, after, message }) => {
        const fresh = await createCsr();
        const { json: decided } = await putApproval(fresh.metadata.name, withConditions(fresh, before));
        // The signer may be at work on it: the version is left out.
        const { name: csrName } = decided.metadata;
        const answer = await putApproval(csrName, withConditions({ metadata: { name: csrName } }, ...after));
        expect(answer.status).toBe(422);
        expect(answer.text).toContain(message);
      });

      it('keeps the time of a condition that was there, and renews its update', async () => {
        const fresh = await createCsr();
        const past = '2020-01-01T00:00:00Z';
        const dated = { ...denied, lastUpdateTime: past, lastTransitionTime: past };
        const { json: decided } = await putApproval(fresh.metadata.name, withConditions(fresh, dated));
        expect(decided.status.conditions).toEqual([dated]);
        const answer = await putApproval(fresh.metadata.name, withConditions(decided, { ...denied, reason: 'Again' }));
        const [condition] = answer.json.status.conditions;
        expect(condition).toMatchObject({ reason: 'Again', lastTransitionTime: past });
        expect(condition.lastUpdateTime).not.toBe(past);
      });

      it.each(['updater', 'other-approver'])('needs the right to approve for the signer: %s', async (user) => {
        const answer = await putApproval('undecided', withConditions(csr, approved), { token: subject.tokenFor(user) });
        expect(answer.status).toBe(403);
        const message =
          'certificatesigningrequests.certificates.k8s.io "undecided" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kubelet-serving"';
        expect(answer.json).toEqual(failure(403, 'Forbidden', message, { ...csrKind, name: 'undecided' }));
      });

      it.each(['approver', 'domain-approver'])('is content with least privilege: %s', async (user) => {
        const fresh = await createCsr();
        const answer = await putApproval(fresh.metadata.name, withConditions(fresh, approved), {
          token: subject.tokenFor(user),
        });
        expect(answer.status).toBe(200);
        expect(answer.json.status.conditions[0]).toMatchObject(approved);
      });

      it('takes the right for one signer for that one only', async () => {
        const fresh = await createCsr({ spec: { signerName: 'kubernetes.io/kube-apiserver-client' } });
        const token = subject.tokenFor('approver');
        const answer = await putApproval(fresh.metadata.name, withConditions(fresh, approved), { token });
        expect(answer.status).toBe(403);
      });

      it.each(['POST', 'DELETE'])('is not done with %s', async (method) => {
        const answer = await call(method, `${CSRS}/undecided/approval`, { body: csr });
        expect(answer.status).toBe(405);
        expect(answer.json.reason).toBe('MethodNotAllowed');
      });
    });

    describe('deleting', () => {
      it('says what was deleted', async () => {
        const csr = await createCsr({ metadata: { name: 'unwanted' } });
        const answer = await call('DELETE', `${CSRS}/unwanted`);
        expect(answer.status).toBe(200);
        const details = { ...csrKind, name: 'unwanted', uid: csr.metadata.uid };
        expect(answer.json).toEqual({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
        expect((await call('GET', `${CSRS}/unwanted`)).status).toBe(404);
      });

      it('waits for finalizers, and an approval that does not repeat them removes them', async () => {
        const metadata = { name: 'finalized', finalizers: ['example.com/contract'] };
        await createCsr({ metadata });
        expect((await call('DELETE', `${CSRS}/finalized`)).json.metadata).toMatchObject({
          deletionTimestamp: expect.any(String),
          finalizers: metadata.finalizers,
        });
        expect((await putApproval('finalized', withConditions({ metadata }, denied))).status).toBe(200);
        expect((await call('GET', `${CSRS}/finalized`)).status).toBe(200);
        expect(
          (await putApproval('finalized', withConditions({ metadata: { name: 'finalized' } }, denied))).status,
        ).toBe(200);
        expect((await call('GET', `${CSRS}/finalized`)).status).toBe(404);
      });
    });

    describe('signing', () => {
      it('issues what is approved, with the names asked for', async () => {
        const csr = await createCsr();
        await putApproval(csr.metadata.name, withConditions(csr, approved));
        const { certificate } = await settled(csr.metadata.name);
        const issued = new X509Certificate(Buffer.from(certificate, 'base64'));
        expect(issued.verify(new X509Certificate(subject.signerCaPem).publicKey)).toBe(true);
        expect(issued.subject).toBe('O=system:nodes\nCN=system:node:worker-1');
        expect(issued.subjectAltName).toBe('DNS:worker-1, IP Address:10.0.0.11');
        expect(issued.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
      });

      it.each([
        { expirationSeconds: 600, minutes: 15 },
        { expirationSeconds: 6 * 3600, minutes: 6 * 60 + 5 },
        { expirationSeconds: 9 * 3600, minutes: 9 * 60 },
        { expirationSeconds: undefined, minutes: SIGNING_HOURS * 60 },
        { expirationSeconds: 2 ** 31 - 1, minutes: SIGNING_HOURS * 60 },
      ])('gives $minutes minutes to who asks for $expirationSeconds s', async ({ expirationSeconds, minutes }) => {
        const csr = await createCsr({ spec: { expirationSeconds } });
        await putApproval(csr.metadata.name, withConditions(csr, approved));
        const { certificate } = await settled(csr.metadata.name);
        const { validFromDate, validToDate } = new X509Certificate(Buffer.from(certificate, 'base64'));
        expect((validToDate.getTime() - validFromDate.getTime()) / 60_000).toBe(minutes);
      });

      const usages = ['digital signature', 'server auth'];
      const ownName = { kind: 'dNSName', value: 'worker-1' } as const;

      it.each([
        { what: 'a URI', request: { sans: [ownName, { kind: 'uniformResourceIdentifier', value: 'a:b' }] }, usages },
        { what: 'a mail address', request: { sans: [ownName, { kind: 'rfc822Name', value: 'a@b' }] }, usages },
        { what: 'no name', request: { sans: [] }, usages },
        { what: 'another organization', request: { organizations: ['system:masters'] }, usages },
        { what: 'a second organization', request: { organizations: ['system:nodes', 'system:masters'] }, usages },
        { what: 'a client usage', request: {}, usages: ['digital signature', 'client auth'] },
      ] as const)('fails $what', async (wanted) => {
        const { pem } = makeRequest({ commonName: 'system:node:worker-1', ...wanted.request });
        const csr = await createCsr({ spec: { request: base64(pem), usages: wanted.usages } });
        await putApproval(csr.metadata.name, withConditions(csr, approved));
        const { conditions, certificate } = await settled(csr.metadata.name);
        expect(certificate).toBeUndefined();
        expect(conditions).toHaveLength(2);
        expect(conditions[1]).toMatchObject({ type: 'Failed', status: 'True', reason: 'SignerValidationFailure' });
      });

      it('does not ask who owns the names: that is left to the approver', async () => {
        const { pem } = createServingRequest('worker-1', {
          dnsNames: ['kubernetes.default.svc', '*.cluster.local'],
          ipAddresses: ['10.0.0.12'],
        });
        const csr = await createCsr({ spec: { request: base64(pem) } });
        await putApproval(csr.metadata.name, withConditions(csr, approved));
        expect((await settled(csr.metadata.name)).certificate).toBeDefined();
      });
    });

    describe('nodes', () => {
      const addresses = [{ type: 'InternalIP', address: '10.0.0.11' }];

      it('keeps what the status says about itself', async () => {
        const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } };
        const created = await call('POST', NODES, { body: node });
        expect(created.status).toBe(201);
        const body = { ...created.json, status: { addresses } };
        const updated = await call('PUT', `${NODES}/worker-1/status`, { body });
        expect(updated.status).toBe(200);
        const list = (await call('GET', NODES)).json;
        expect(list).toMatchObject({ kind: 'NodeList', apiVersion: 'v1' });
        expect(list.items).toHaveLength(1);
        expect(list.items[0]).toMatchObject({ metadata: { name: 'worker-1' }, status: { addresses } });
        expect(list.items[0]).not.toHaveProperty('kind', expect.anything());
      });

      it('says what it has not found', async () => {
        const answer = await call('GET', `${NODES}/absent`);
        expect(answer.json).toEqual(
          failure(404, 'NotFound', 'nodes "absent" not found', { name: 'absent', kind: 'nodes' }),
        );
      });
    });

    describe('machines', () => {
      it('leaves the status to its subresource', async () => {
        const created = await createMachine('status', 'red');
        expect(created).not.toHaveProperty('status', expect.anything());
        expect(created.metadata).toMatchObject({ namespace: 'default', generation: 1 });
        const status = {
          phase: 'Running',
          nodeRef: { name: 'worker-1' },
          addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
        };
        const body = {
          ...created,
          spec: { clusterName: 'other' },
          metadata: { ...created.metadata, labels: {} },
          status,
        };
        const updated = (await call('PUT', `${MACHINES}/status/status`, { body })).json;
        expect(updated.status).toEqual(status);
        expect(updated.spec).toEqual(created.spec);
        expect(updated.metadata.labels).toEqual(created.metadata.labels);
      });

      it('lists by label across namespaces, items with their kind, in both versions', async () => {
        await createMachine('blue-1', 'blue');
        await createMachine('green-1', 'green');
        const labelSelector = encodeURIComponent('cluster.x-k8s.io/cluster-name=blue');
        for (const version of ['v1beta1', 'v1beta2']) {
          const list = (await call('GET', `/apis/cluster.x-k8s.io/${version}/machines?labelSelector=${labelSelector}`))
            .json;
          expect(list).toMatchObject({ kind: 'MachineList', apiVersion: `cluster.x-k8s.io/${version}` });
          expect(list.items).toHaveLength(1);
          expect(list.items[0]).toMatchObject({
            apiVersion: `cluster.x-k8s.io/${version}`,
            kind: 'Machine',
            metadata: { name: 'blue-1', namespace: 'default' },
            spec: { clusterName: 'blue' },
          });
        }
      });

      it('lists by whether a label is there', async () => {
        await createMachine('violet-1', 'violet');
        const named = async (selector: string) => {
          const query = new URLSearchParams({ labelSelector: `${selector},cluster.x-k8s.io/cluster-name=violet` });
          return namesOf((await call('GET', `${MACHINES}?${query.toString()}`)).json);
        };
        await expect(named('cluster.x-k8s.io/cluster-name')).resolves.toEqual(['violet-1']);
        await expect(named('!cluster.x-k8s.io/cluster-name')).resolves.toEqual([]);
        await expect(named('cluster.x-k8s.io/control-plane')).resolves.toEqual([]);
        await expect(named('!cluster.x-k8s.io/control-plane')).resolves.toEqual(['violet-1']);
      });

      it('updates only what was read', async () => {
        const created = await createMachine('updated', 'red');
        const spec = { ...created.spec, providerID: 'aws:///eu-west-1a/i-0' };
        const updated = await call('PUT', `${MACHINES}/updated`, { body: { ...created, spec } });
        expect(updated.json).toMatchObject({ spec, metadata: { generation: 2 } });
        expect((await call('PUT', `${MACHINES}/updated`, { body: created })).status).toBe(409);
        const metadata = { ...created.metadata, resourceVersion: undefined };
        expect((await call('PUT', `${MACHINES}/updated`, { body: { ...created, metadata } })).status).toBe(422);
      });

      it('deletes', async () => {
        await createMachine('unwanted', 'red');
        expect((await call('DELETE', `${MACHINES}/unwanted`)).json.status).toBe('Success');
        expect((await call('GET', `${MACHINES}/unwanted`)).status).toBe(404);
      });

      it('wants the name of the cluster', async () => {
        const answer = await call('POST', MACHINES, { body: { ...machineOf('clusterless', 'red'), spec: {} } });
        expect(answer.status).toBe(422);
        expect(answer.json.details.causes[0]).toMatchObject({ field: 'spec.clusterName' });
      });
    });

    describe('what is served', () => {
      it('tells its version to everybody', async () => {
        const answer = await call('GET', '/version', { token: undefined });
        expect(answer.status).toBe(200);
        expect(answer.json).toMatchObject({ major: '1', gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/) });
      });

      it('tells which versions of Cluster API it serves', async () => {
        const answer = await call('GET', '/apis/cluster.x-k8s.io', { token: subject.tokenFor('nobody') });
        const [v1beta2, v1beta1] = ['v1beta2', 'v1beta1'].map((version) => ({
          groupVersion: `cluster.x-k8s.io/${version}`,
          version,
        }));
        expect(answer.json).toEqual({
          kind: 'APIGroup',
          apiVersion: 'v1',
          name: 'cluster.x-k8s.io',
          versions: [v1beta2, v1beta1],
          preferredVersion: v1beta2,
        });
      });

      it.each([
        '/apis/absent.example.com',
        '/apis/absent.example.com/v1/things',
        '/apis/cluster.x-k8s.io/v1beta3/machines',
      ])('has nothing at %s', async (path) => {
        const answer = await call('GET', path);
        expect(answer.status).toBe(404);
        expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
        expect(answer.text).toBe('404 page not found\n');
      });

      it('has nothing below a request but its subresources', async () => {
        await createCsr({ metadata: { name: 'parent' } });
        const answer = await call('GET', `${CSRS}/parent/child`);
        expect(answer.status).toBe(404);
        expect(answer.json.reason).toBe('NotFound');
      });
    });
  });
}
