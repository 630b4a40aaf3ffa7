// touch
