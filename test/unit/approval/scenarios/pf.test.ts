import { dns, ips, machine } from '../fixtures.ts';
import { testScenarios } from './scenario.ts';

// postfinance/kubelet-csr-approver: what its DNS answers and CIDRs vouch for is in a Machine here.
const [IPV4, IPV6] = ['192.168.14.34', 'fc00:1291:feed::cafe'];
const owner = machine('n', { InternalDNS: ['n.test.ch'], InternalIP: [IPV4, IPV6] });
const wide = { machines: [machine('n', { ExternalDNS: ['n-unresolved.test.ch'], InternalIP: ['192.168.3.4'] })] };
const asking = (...sans: ReturnType<typeof dns>) => ({ node: 'n', request: { sans } });
const good = asking(...dns('n.test.ch'), ...ips(IPV4, IPV6));

testScenarios('PF', 19, { machines: [owner] }, [
  ['PF1: DNS name and both addresses belong to the node', good, 'approve Proven'],
  ['PF2: another signer', { ...good, signerName: 'example.com/not-kubelet-serving' }, 'ignore NotKubeletServing'],
  ['PF3: foreign DNS name', asking(...dns('fishing-test.google.com')), 'leave SanNotOwned'],
  [
    'PF4: common name is not the username',
    { ...good, request: { ...good.request, commonName: 'funny-common-name' } },
    'deny CommonNameMismatch',
  ],
  [
    'PF5: the second DNS name is foreign',
    { node: 'a', request: { sans: dns('a.test.ch', 'auth.evil.io') } },
    'leave SanNotOwned',
    { machines: [machine('a', { InternalDNS: ['a.test.ch'] })] },
  ],
  ['PF6: foreign DNS name that resolves', asking(...dns('fishing.google.com'), ...ips(IPV4)), 'leave SanNotOwned'],
  // Not proven; but a node may call itself by its name in a domain that its Machine does not list.
  ['PF7: node name under a foreign domain', asking(...dns('n.phishingTemptative.ch')), 'leave SanNotOwned'],
  [
    'PF8: nothing knows the node yet',
    { node: 'unresolved', request: { sans: dns('unresolved.test.ch') } },
    'leave EvidenceMissing',
  ],
  [
    'PF9: address of another node',
    asking(...dns('n.test.ch'), ...ips('9.9.9.9')),
    'leave SanNotOwned',
    { machines: [owner, machine('other', { ExternalIP: ['9.9.9.9'] })] },
  ],
  // D/P: the cap is the policy's, and a kubelet may be configured beyond it without malice.
  ['PF10: 368 days asked, 366 allowed', { ...good, expirationSeconds: 368 * 86_400 }, 'leave ExpirationTooLong'],
  ['PF11: further DNS name, owned', asking(...dns('n-unresolved.test.ch')), 'approve Proven', wide],
  ['PF11: DNS name that only starts like the node', asking(...dns('n-unresolved.test.ch')), 'leave SanNotOwned'],
  [
    'PF12: further DNS name and address, owned',
    asking(...dns('n-unresolved.test.ch'), ...ips('192.168.3.4')),
    'approve Proven',
    wide,
  ],
  ['PF13: DNS name only, though there are addresses', asking(...dns('n-unresolved.test.ch')), 'approve Proven', wide],
  // D/P: an address that nobody owns may have moved a moment ago.
  ['PF14: IPv4 address that nobody owns', asking(...dns('n.test.ch'), ...ips('9.9.9.9')), 'leave SanNotOwned'],
  ['PF15: IPv6 address of nobody', asking(...dns('n.test.ch'), ...ips('2001:c0fe:beef::14')), 'leave SanNotOwned'],
  ['PF16: nothing but an address that nobody owns', asking(...ips('2001:c0fe:beef::14')), 'leave SanNotOwned'],
  ['PF17: garbage', { node: 'n', pem: Buffer.from('-----BEGIN GARBAGE\nno request') }, 'deny RequestMalformed'],
  ['PF18: requester is not a node', { ...good, username: 'jane' }, 'ignore RequesterMisnamed'],
  ['PF19: no name at all', asking(), 'deny SanMissing'],
]);
