/** What is empty is left out. */
export type Child = Node | string | undefined | false;
type Attributes = Readonly<Record<string, string | undefined>>;

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/** An element with text and elements, never with markup. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes,
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  setAttributes(element, attributes);
  for (const child of children) if (child !== undefined && child !== false && child !== '') element.append(child);
  return element;
}

/** The same of SVG. */
export function draw(name: string, attributes: Attributes, ...children: readonly Node[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
}

export function onClick(button: HTMLButtonElement, act: () => void): HTMLButtonElement {
  button.addEventListener('click', act);
  return button;
}
