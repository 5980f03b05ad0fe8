import { describe, expect, it } from 'vitest';
import { decodePem } from '../../../lambdas/x509/decode-certificate-request.ts';
import { makeRequest, toPem } from './request-factory.ts';

const { der, pem } = makeRequest();
const text = pem.toString();
const base64 = der.toString('base64');
const begin = '-----BEGIN CERTIFICATE REQUEST-----';
const end = '-----END CERTIFICATE REQUEST-----';

describe('accepts one CERTIFICATE REQUEST block', () => {
  const accepted: readonly [string, string][] = [
    ['as Go and OpenSSL write it', text],
    ['without the final line break', text.slice(0, -1)],
    ['with CRLF', text.replaceAll('\n', '\r\n')],
    ['with CRLF, without the final line break', text.replaceAll('\n', '\r\n').slice(0, -2)],
    ['with lines of 76 characters', `${begin}\n${base64.replace(/.{1,76}/g, '$&\n')}${end}\n`],
    ['with all base64 on one line', `${begin}\n${base64}\n${end}\n`],
  ];
  it.each(accepted)('%s', (_, input) => {
    expect(decodePem(Buffer.from(input)).equals(der)).toBe(true);
  });

  it('from a view into a larger buffer', () => {
    const larger = Buffer.concat([Buffer.alloc(7, 0x41), pem, Buffer.alloc(7, 0x41)]);
    expect(decodePem(larger.subarray(7, 7 + pem.length)).equals(der)).toBe(true);
  });

  it('that fills 64 KiB', () => {
    const content = Buffer.alloc(((65_536 - begin.length - end.length - 4) / 4) * 3);
    const input = `${begin}\r\n${content.toString('base64')}\r\n${end}`;
    expect(input).toHaveLength(65_536);
    expect(decodePem(Buffer.from(input))).toHaveLength(content.length);
  });
});

describe('refuses', () => {
  const lines = text.split('\n');
  const noBlock = 'no CERTIFICATE REQUEST block at the first byte';
  const badBase64 = 'base64 with a foreign character, wrong padding or spare bits';
  const refused: readonly [string, string | Uint8Array, string][] = [
    ['nothing', '', noBlock],
    ['DER without PEM', der, noBlock],
    ['text before the block', `Bag Attributes\n${text}`, noBlock],
    ['a line break before the block', `\n${text}`, noBlock],
    ['a byte order mark before the block', `\ufeff${text}`, noBlock],
    ['the label NEW CERTIFICATE REQUEST', toPem(der, 'NEW CERTIFICATE REQUEST'), noBlock],
    ['the label CERTIFICATE', toPem(der, 'CERTIFICATE'), noBlock],
    ['a lower case label', text.replaceAll('CERTIFICATE', 'certificate'), noBlock],
    ['text after the BEGIN line', text.replace('\n', ' \n'), 'text after the BEGIN line'],
    ['the BEGIN line alone', begin, 'text after the BEGIN line'],
    ['an END line of another label', text.replace(end, '-----END CERTIFICATE-----'), 'no END CERTIFICATE REQUEST line'],
    ['no END line', text.slice(0, text.indexOf('-----END')), 'no END CERTIFICATE REQUEST line'],
    ['text after the block', `${text}x`, '2 bytes found after the END line'],
    ['two line breaks after the block', `${text}\n`, '2 bytes found after the END line'],
    ['a second block', `${text}${text}`, `${text.length + 1} bytes found after the END line`],
    ['a NUL after the block', `${text.slice(0, -1)}\0`, '1 bytes found after the END line'],
    ['an END line not on a line of its own', text.replace(`\n${end}`, end), 'no line break before the END line'],
    ['CRLF in the first line only', text.replace('\n', '\r\n'), '1 bytes found after the END line'],
    ['LF after the END line of a CRLF block', text.replaceAll('\n', '\r\n').replace(/\r\n$/, '\n'), '1 bytes found'],
    ['CR alone as line break', text.replaceAll('\n', '\r'), 'text after the BEGIN line'],
    ['an empty block', `${begin}\n${end}\n`, 'no line break before the END line'],
    ['a block of one empty line', `${begin}\n\n${end}\n`, 'no base64 text'],
    ['a PEM header', text.replace('\n', '\nProc-Type: 4,ENCRYPTED\n\n'), 'no END CERTIFICATE REQUEST line'],
    [
      'a header without a hyphen',
      text.replace('\n', '\nVersion: 1\n\n'),
      'line 3 has 0 characters, the first line of base64 has 10',
    ],
    ['an empty line inside', text.replace(`\n${lines[2]}`, `\n\n${lines[2]}`), 'line 3 has 0 characters'],
    ['an empty last line', text.replace(`\n${end}`, `\n\n${end}`), ' characters, the first line of base64 has 64'],
    ['an empty line after a full one', `${begin}\n${'A'.repeat(64)}\n\n${end}\n`, 'line 3 has 0 characters'],
    ['a last line that is longer than the first', `${begin}\nMAAA\nMAAAMAAA\n${end}\n`, 'line 3 has 8 characters'],
    ['a short line inside', text.replace(lines[2]!, lines[2]!.slice(4)), 'line 3 has 60 characters'],
    ['a space in a line', text.replace(lines[2]!, ` ${lines[2]!.slice(1)}`), badBase64],
    ['a tab at the end of a line', text.replace(lines[2]!, `${lines[2]!.slice(1)}\t`), badBase64],
    ['a NUL in a line', text.replace(lines[2]!, `\0${lines[2]!.slice(1)}`), badBase64],
    [
      'a byte above 0x7f in a line',
      Buffer.from(text.replace(lines[2]!, `\u00e9${lines[2]!.slice(1)}`), 'latin1'),
      badBase64,
    ],
    [
      'the URL alphabet',
      `${begin}\n${Buffer.alloc(48, 0xff).toString('base64').replaceAll('/', '_')}\n${end}\n`,
      badBase64,
    ],
    ['no padding', `${begin}\nMAA\n${end}\n`, badBase64],
    ['one character of padding too many', `${begin}\nMAA==\n${end}\n`, badBase64],
    ['padding inside', `${begin}\nMA==MAA=\n${end}\n`, badBase64],
    ['spare bits that are not zero', `${begin}\nMAB=\n${end}\n`, badBase64],
  ];
  it.each(refused)('%s', (_, input, found) => {
    const bytes = typeof input === 'string' ? Buffer.from(input) : input;
    expect(() => decodePem(bytes)).toThrow(
      expect.objectContaining({ code: 'NotPem', message: expect.stringContaining(found) }),
    );
  });

  it.each([65_537, 1024 * 1024])('%d bytes, before decoding', (size) => {
    const message = `the request: ${size} bytes found, 65536 allowed`;
    expect(() => decodePem(Buffer.alloc(size, text))).toThrow(expect.objectContaining({ code: 'TooLarge', message }));
  });
});
